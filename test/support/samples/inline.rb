# frozen_string_literal: true

require "shellwords"
require "neverblock/cli/commands"
require "neverblock/cli/check_options"
require "neverblock/cli/advise_options"
require "neverblock/cli/fibers_options"
require "neverblock/cli/files_options"
require "neverblock/cli/init_options"
require "neverblock/cli/process_options"
require "neverblock/cli/watch_options"
require "neverblock/config/user_file"
require_relative "block"

module Samples
  # Commands and settings that stand in a sentence as code: `neverblock stop --pidfile F`.
  module Inline
    COMMAND = /\A(?:bundle exec )?neverblock (.+)\z/
    SETTING = /\A([a-z_]+)(?: | \{ )\S/
    # A setting that is named, not set: `limits { queue }`, `timeouts shutdown`.
    MENTION = /\A(?<group>\w+)(?: \{ | )(?<names>\w+(?:; \w+)*)(?: \})?\z/
    # What has placeholders, or is cut.
    PARTIAL = /\.\.\.|\[| NAME\b|×/
    # Words of a command that stand for something, and one such thing.
    EXAMPLES = { "N" => "2", "DIR" => ".", "F" => "x.pid", "FILE" => "x.pid", "S" => "5",
                 "URL" => "http://127.0.0.1:0", "PATHS" => "/" }.freeze
    # Code that looks like a command or a setting and is none: rows of a table of measurements, a
    # method of a controller, a word of nginx, values that are refused, a route's path.
    OTHERS = ["neverblock off", "neverblock --public", "neverblock :figures", "sendfile off",
              "workers -1", "workers 0", "route \"/caf%C3%A9/*\""].freeze

    FILE = %r{\A(?:bench|benchmark|bin|docs|examples|exe|ext|gemfiles|lib|sig|site|test)/[\w./-]+\z}
    # Decisions are named by their number.
    NUMBERED = %r{\Adocs/decisions/\d{4}\z}

    module_function

    # @return [Array<Array(String, String)>] page and line, code
    def spans
      Pages.all.flat_map do |path|
        text = File.read(File.join(ROOT, path))
        text = text.gsub(/^( *)```.*?^\1```/m) { |block| block.gsub(/[^\n]/, "") }
        text.lines.each_with_index.flat_map do |line, index|
          line.scan(/(?<!`)`([^`]+)`(?!`)/).map { |code,| ["#{path}:#{index + 1}", code] }
        end
      end
    end

    # @return [Array<Array(String, String)>] those that are commands
    def commands
      whole.select { |_, code| COMMAND.match?(code) }
    end

    # @return [Array<Array(String, String)>] those that name or set a setting, as in the file
    def settings
      known = NeverBlock::Config::Words.known(nil).map(&:to_s)
      whole.select { |_, code|
        known.include?(code[SETTING, 1]) && !code.match?(/\b[A-Z]+\b(?!["'])/)
      }
    end

    # @return [Array<Array(String, String)>] files of this project that are named and not there
    def missing_files
      spans.select { |_, code| FILE.match?(code) && !code.include?("NAME") }.reject do |_, code|
        Dir.chdir(ROOT) { Dir.glob(["#{code}{,.rb,.c,.h}", "ext/neverblock/#{code}"]).any? } ||
          NUMBERED.match?(code)
      end
    end

    # @raise [NeverBlock::Error] the command does not take these words
    def parse(code)
      words = Shellwords.split(code[COMMAND, 1]).map { |word| EXAMPLES.fetch(word, word) }
      cli = NeverBlock::CLI
      case words.first
      when "status", "top" then cli::WatchOptions.new(words.shift, words)
      when "fibers" then cli::FibersOptions.new("fibers", words.drop(1))
      when "advise" then cli::AdviseOptions.new("advise", words.drop(1))
      when "stop", "reload", "upgrade" then cli::ProcessOptions.new(words.shift, words)
      when "init" then cli::InitOptions.new(words.shift, words)
      when "check" then cli::CheckOptions.parse(words.drop(1), {})
      when "files" then cli::FilesOptions.new(words.drop(1))
      when "bench", "help" then nil
      else cli::Options.parse(words.drop(words.first == "serve" ? 1 : 0), {})
      end
    end

    # @return [Boolean] whether it names settings of a group, and there are these
    def mention?(code)
      named = MENTION.match(code) or return false
      known = NeverBlock::Config::Words.known(named[:group].to_sym).map(&:to_s)
      (named[:names].split("; ") - known).empty?
    end

    def whole
      spans.reject { |_, code| code.match?(PARTIAL) || OTHERS.include?(code) }
    end

    private_class_method :whole
  end
end
