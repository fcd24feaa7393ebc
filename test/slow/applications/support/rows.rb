# frozen_string_literal: true

require "digest"
require "json"

# What an application has left: the rows of its databases and its files, without what differs
# between two runs.
module Rows
  SCRIPT = File.expand_path("../inside/rows.rb", __dir__)

  class << self
    # @param app [Application]
    # @param alike [Alike]
    # @return [Hash{String => Array<String>}] sorted rows by table
    def of(app, alike)
      text = app.run("bundle", "exec", "rails", "runner", SCRIPT)
      JSON.parse(text[/^ROWS (.*)$/, 1]).transform_values do |rows|
        rows.map { |row| nameless(alike.text(row)) }.sort
      end
    end

    # @return [Array<String>] name and digest of each file below the folder
    def of_files(folder, alike)
      Dir.glob("**/*", base: folder).filter_map do |file|
        path = File.join(folder, file)
        "#{alike.text(file)} #{Digest::SHA256.file(path)}" if File.file?(path)
      end.sort
    end

    private

    # The table of a primary key, without which of its rows it is.
    def nameless(row) = row.gsub(/<row \d+ of/, "<row of")
  end
end
