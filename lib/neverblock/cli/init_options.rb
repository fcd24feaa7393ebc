# frozen_string_literal: true

require "neverblock/cli/command_line"
require "neverblock/config/user_file"

module NeverBlock
  module CLI
    # The command line of `neverblock init`, and its --help.
    class InitOptions < CommandLine
      HELP = {
        "init" => <<~TEXT
          Usage: neverblock init [FILE] [options]

          Writes config/neverblock.rb. Where the application has the configuration of another
          server, its settings are brought over: each with its place, what it means here, and
          what has no counterpart. The file is read and not run. Nothing else is changed.

          FILE is that configuration; default: the first of config/puma/production.rb,
          config/puma.rb, config/unicorn.rb, falcon.rb, Passengerfile.json and config/thin.yml
          that is there, and Thruster's variables of a Dockerfile beside it.

              --print           show it and write nothing
              --force           replace a config/neverblock.rb that is there
          -h, --help            show this help

          Examples:
              neverblock init
              neverblock init config/puma/production.rb --print
        TEXT
      }.freeze

      # @return [String, nil]
      attr_reader :from
      # @return [Boolean]
      attr_reader :print, :force

      # @return [String]
      def target = Config::UserFile::DEFAULT

      private

      def declare
        option("--print") { @print = true }
        option("--force") { @force = true }
      end

      def take_words(words)
        if words.size > 1
          raise ConfigError, "neverblock init reads one file; got #{words.join(" ")}"
        end

        @from = words.first
      end
    end
  end
end
