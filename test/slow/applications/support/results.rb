# frozen_string_literal: true

require "fileutils"
require "json"

module Applications
  # What runs have found, one file for each application, as docs/COMPATIBILITY.md is made of.
  module Results
    FOLDER = File.expand_path("../../../../tmp/applications/results", __dir__)

    class << self
      # Adds one test to what is known of its application.
      # @param word [Hash] "name", "version", "runs" (with what), "visit" (what users do)
      # @param test [String] which users, in words
      # @param counts [Hash] "visitors", "pages", "answers"
      def record(word, test, counts, folder: FOLDER)
        file = File.join(folder, "#{word.fetch("name").downcase}.json")
        known = File.exist?(file) ? JSON.parse(File.read(file)) : {}
        tests = (known["tests"] || {}).merge(test => counts).sort.to_h
        FileUtils.mkdir_p(folder)
        File.write(file, "#{JSON.pretty_generate(word.merge(stamp, "tests" => tests))}\n")
      end

      private

      def stamp = { "ruby" => RUBY_VERSION, "date" => Time.now.strftime("%F") }
    end
  end
end
