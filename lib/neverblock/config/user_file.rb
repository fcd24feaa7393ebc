# frozen_string_literal: true

# The configuration file, config/neverblock.rb: ordinary Ruby in which every setting of the catalog is a word. Whatever is wrong with it is one line that
# names the file, the line, what was seen and what is allowed.

require "neverblock/config/catalog"
require "neverblock/config/words"
require "neverblock/errors"
require "neverblock/config/source_error"

module NeverBlock
  class Config
    class UserFile
      DEFAULT = Catalog[:config].default
      NONE = "-"
      # Settings of the command line alone => what the file has for them.
      FILE_HAS = { port: "it is part of bind \"http://HOST:PORT\"", host: "it is part of bind \"http://HOST:PORT\"", config: "there is no other file" }.freeze

      # @param name [String, nil] as -C gave it; nil: the default, where it exists; "-": none
      # @param directory [String] what a relative path starts from
      # @return [Hash{Symbol => Object}] values by Option#key
      # @raise [ConfigError]
      def self.read(name = nil, directory = Dir.pwd)
        return {} if name == NONE

        path = File.expand_path(name || DEFAULT, directory)
        # A link that leads nowhere is there, and a mistake.
        return {} if name.nil? && !File.exist?(path) && !File.symlink?(path)

        new(path).values
      end

      # @param path [String] absolute
      def initialize(path)
        @path = path
        @values = {}
      end

      # Runs the file.
      # @return [Hash{Symbol => Object}]
      # @raise [ConfigError]
      def values
        evaluate(source)
        @values
      rescue ConfigError, SystemExit, SignalException
        raise
      rescue Exception => e # rubocop:disable Lint/RescueException -- a file may raise whatever it likes
        raise ConfigError, SourceError.describe(e, @path)
      end

      # One word of the file: a setting with its value.
      # @raise [ConfigError]
      def take(row, words, keywords, block)
        refuse("#{row} does not work yet; #{row.later}", NotYetError) if row.later && row.works.empty?
        value = placed { row.read(row.type.gather(words, keywords, block, row.to_s)) }
        @values[row.key] = row.repeat ? placed { row.append(@values[row.key], value) } : value
        nil
      end

      # One word of the file: a group, with a block of settings.
      def open(group, words, keywords, block)
        later = Catalog.in_file(group).all? { |row| row.later && row.works.empty? }
        refuse("#{group} does not work yet; #{Catalog.in_file(group).first.later}", NotYetError) if later
        unless block && words.empty? && keywords.empty?
          row = Catalog.in_file(group).first
          refuse("#{group} takes a block and nothing else, such as #{group} { #{row.name} #{row.default} }")
        end

        Words.for(group).new(self).instance_exec(&block)
        nil
      end

      # A word that no setting has.
      # @raise [ConfigError]
      def unknown(name, group)
        elsewhere = Catalog::OPTIONS.find { |row| row.in_file && row.name == name && row.group != group }
        refuse("#{name} stands #{elsewhere.group ? "inside #{elsewhere.group} { }" : "outside of #{group} { }"}") if elsewhere

        only = Catalog::OPTIONS.find { |row| !row.in_file && row.name == name && group.nil? }
        refuse("#{name} is for the command line (#{only.flag}); in the file #{FILE_HAS.fetch(name)}") if only

        ours = Catalog.for_word_of_others(name)
        refuse("unknown setting #{name}; did you mean #{ours.in_place}?") if ours

        known = Words.known(group).map(&:to_s)
        hint = Suggestion.for(name.to_s, known)
        refuse("unknown setting #{"#{group} " if group}#{name}#{hint.empty? ? "; there are #{known.join(", ")}" : hint}")
      end

      private

      def source
        raise ConfigError, "#{@path} is a folder; -C takes a file" if File.directory?(@path)

        File.read(@path, encoding: Encoding::UTF_8)
      rescue Errno::ENOENT, Errno::ENOTDIR
        raise ConfigError, "no configuration file #{@path}"
      rescue SystemCallError => e
        raise ConfigError, "cannot read #{@path}: #{e.message[/\A[^@]+/].strip}"
      end

      def evaluate(text)
        place = Words.for(nil).new(self).instance_eval { binding }
        place.eval(text, @path, 1)
        refuse_variables(place.local_variables & Words.known(nil), text)
      end

      # `fibers = 7` is a variable to Ruby, and what its author meant would be lost.
      def refuse_variables(names, text)
        name = names.find { |variable| !@values.key?(variable) } or return
        line = text.lines.index { |code| code.match?(/\b#{name}\s*=/) }
        raise ConfigError, "#{SourceError.short(@path)}:#{line&.succ}: #{name} = ... is a variable of Ruby and sets nothing; write the value after the name: #{name} VALUE"
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
