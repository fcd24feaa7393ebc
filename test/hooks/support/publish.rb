# frozen_string_literal: true

# What bin/hooks ends with: takes the results of the last runs (tmp/hooks) into test/hooks/results
# and writes docs/HOOKS.md. Refuses when a row failed, could not be played, or is missing on one of
# the Rubies.

require "fileutils"
require_relative "document"

runs = Dir[File.expand_path("../../../tmp/hooks/*.json", __dir__)]
published = Dir[File.join(HookTable::Document::FOLDER, "*.json")]
chosen = (published + runs).to_h { |file| [File.basename(file), file] }.values
document = HookTable::Document.new(chosen.map { |file| JSON.parse(File.read(file)) })
objections = document.objections
if objections.any?
  abort "bin/hooks: not published:\n#{objections.map { |line| "  #{line}\n" }.join}"
end

FileUtils.mkdir_p(HookTable::Document::FOLDER)
FileUtils.cp(runs, HookTable::Document::FOLDER)
File.write(HookTable::Document::PATH, document.to_s)
rubies = chosen.map { |file| File.basename(file, ".json") }.sort
puts "bin/hooks: docs/HOOKS.md is of #{rubies.join(", ")}"
