# frozen_string_literal: true

# A program of bin/ in a sample: it exists, and its help names the options that the sample has.

require "open3"

name, *words = ARGV
help, status = Open3.capture2e(File.join(ENV.fetch("SAMPLES_ROOT"), "bin", name), "--help")
status.success? or abort("bin/#{name} --help: #{help}")
unknown = words.grep(/\A-/).find { |option| !help.include?(option) }
abort("bin/#{name} --help does not name #{unknown}") if unknown
