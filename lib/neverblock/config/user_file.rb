# frozen_string_literal: true

# The configuration file, config/neverblock.rb: Ruby in which every setting of the catalog is a
# method. Any mistake is reported in one line with the file, the line, what was found and what is
# allowed.

require "neverblock/config/assignments"
require "neverblock/config/catalog"
require "neverblock/config/paths"
require "neverblock/config/words"
require "neverblock/errors"
require "neverblock/config/source_error"

module NeverBlock
  class Config
    class UserFile
      DEFAULT = Catalog[:config].default
      NONE = "-"
      # Settings of the command line alone, and what the file has instead.
      FILE_HAS = {
        port: "it is part of bind \"http://HOST:PORT\"",
        host: "it is part of bind \"http://HOST:PORT\"",
        config: "a file cannot name another one"
      }.freeze

      # @param name [String, nil] the argument of -C; nil: the default where it exists; "-": none
      # @param directory [String] base of a relative path
      # @return [Hash{Symbol => Object}] values by Option#key
      # @raise [ConfigError]
      def self.read(name = nil, directory = Dir.pwd)
        return {} if name == NONE

        path = Paths.expand(name || DEFAULT, directory)
        # A dangling symbolic link is a mistake: reading it raises.
        return {} if name.nil? && !File.exist?(path) && !File.symlink?(path)

        new(path).values
      end

      # @param path [String] absolute
      def initialize(path)
        @path = path
        @values = {}
        @taken = []
      end

      # Runs the file.
      # @return [Hash{Symbol => Object}]
      # @raise [ConfigError]
      def values
        evaluate(source)
        @values
      rescue ConfigError, SystemExit, SignalException
        raise
      rescue Exception => e # rubocop:disable Lint/RescueException -- a file may raise anything
        raise ConfigError, SourceError.describe(e, @path)
      end

      # A setting with its value.
      # @raise [ConfigError]
      def take(row, words, keywords, block)
        refuse("#{row} is not supported yet; #{row.later}", NotYetError) if not_yet?(row)
        value = placed { row.read(row.type.gather(words, keywords, block, row.to_s)) }
        @taken << row.key
        @values[row.key] = row.repeat ? placed { row.append(@values[row.key], value) } : value
        nil
      end

      # A group with its block of settings.
      def open(group, words, keywords, block)
        rows = Catalog.in_file(group)
        if rows.all? { |row| not_yet?(row) }
          refuse("#{group} is not supported yet; #{rows.first.later}", NotYetError)
        end
        unless block && words.empty? && keywords.empty?
          example = "#{group} { #{rows.first.name} #{rows.first.default} }"
          refuse("#{group} takes a block and nothing else, such as #{example}")
        end

        run(group, block)
        nil
      end

      # A word that is no setting here.
      # @raise [ConfigError]
      def unknown(name, group)
        refuse_another_server(name)
        refuse_elsewhere(name, group)
        refuse_on_command_line(name) if group.nil?

        ours = Catalog.for_word_of_others(name)
        refuse("unknown setting #{name}; did you mean #{ours.in_place}?") if ours

        known = Words.known(group).map(&:to_s)
        hint = Suggestion.for(name.to_s, known)
        hint = "; known are #{known.join(", ")}" if hint.empty?
        refuse("unknown setting #{"#{group} " if group}#{name}#{hint}")
      end

      private

      def not_yet?(row)
        row.later && row.works.empty?
      end

      def refuse_another_server(name)
        server = File.basename(@path)[/puma|unicorn|falcon/] or return
        path = SourceError.short(@path)
        refuse("unknown setting #{name}: this is #{server.capitalize}'s file; `neverblock init " \
               "#{path}` writes #{DEFAULT} from it")
      end

      def refuse_elsewhere(name, group)
        row = Catalog::OPTIONS.find { |one| one.in_file && one.name == name && one.group != group }
        return unless row

        place = row.group ? "inside #{row.group} { }" : "outside of #{group} { }"
        refuse("#{name} belongs #{place}")
      end

      def refuse_on_command_line(name)
        row = Catalog::OPTIONS.find { |one| !one.in_file && one.name == name } or return
        refuse("#{name} is for the command line (#{row.flag}); " \
               "in the file #{FILE_HAS.fetch(name)}")
      end

      def source
        raise ConfigError, "#{@path} is a folder; -C takes a file" if File.directory?(@path)

        File.read(@path, encoding: Encoding::UTF_8)
      rescue Errno::ENOENT, Errno::ENOTDIR
        raise ConfigError, "there is no configuration file #{@path}; #{other_file}"
      rescue SystemCallError => e
        raise ConfigError, "cannot read #{@path}: #{SourceError.reason(e)}"
      end

      def other_file
        return "`neverblock init` writes #{DEFAULT}" unless File.file?(DEFAULT)

        "#{DEFAULT} is there, and is read without -C"
      end

      def evaluate(text)
        @lines = text.lines
        place = Words.for(nil).new(self).instance_eval { binding }
        place.eval(text, @path, 1)
        refuse_variables(place.local_variables & Words.known(nil)) { |name| @values.key?(name) }
        name, line = Assignments.unread(text)
        refuse_variable(name, line) if name
      end

      def run(group, block)
        taken = @taken.size
        Words.for(group).new(self).instance_exec(&block)
        keys = @taken.drop(taken)
        refuse_variables(locals(block) & Words.known(group), block.source_location.last) do |name|
          keys.include?(:"#{group}.#{name}")
        end
      end

      # @return [Array<Symbol>] the variables of the block itself
      def locals(block)
        RubyVM::InstructionSequence.of(block).to_a.fetch(10, [])
      end

      # `fibers = 7` assigns a Ruby variable, and the setting would silently keep its default.
      def refuse_variables(names, from = 1)
        name = names.find { |variable| !yield(variable) } or return
        line = (from..@lines.size).find { |at| @lines[at - 1].match?(/\b#{name}\s*=/) }
        refuse_variable(name, line)
      end

      def refuse_variable(name, line)
        raise ConfigError, "#{SourceError.short(@path)}:#{line}: #{name} = ... assigns a " \
                           "Ruby variable and sets nothing; write the value after the name: " \
                           "#{name} VALUE"
      end

      def placed
        yield
      rescue ConfigError => e
        refuse(e.message, e.class)
      end

      def refuse(message, kind = ConfigError)
        line = caller_locations.find { |place| place.path == @path }&.lineno
        raise kind, "#{SourceError.short(@path)}:#{line}: #{message}"
      end
    end
  end
end
