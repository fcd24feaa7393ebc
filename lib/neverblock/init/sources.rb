# frozen_string_literal: true

require "neverblock/config/paths"
require "neverblock/config/source_error"
require "neverblock/errors"
require "neverblock/init/falcon"
require "neverblock/init/keyed"
require "neverblock/init/puma"
require "neverblock/init/thruster"
require "neverblock/init/unicorn"

module NeverBlock
  module Init
    # Finds the configuration of other servers in an application's folder.
    module Sources
      # By which name of a file a reader is chosen.
      NAMES = { "puma" => Puma, "unicorn" => Unicorn, "falcon" => Falcon, "passenger" => Passenger,
                "thin" => Thin, "dockerfile" => Thruster }.freeze
      # In this order the first one found is read; Thruster's comes beside it.
      SERVERS = [Puma, Unicorn, Falcon, Passenger, Thin].freeze

      class << self
        # @param folder [String]
        # @return [Array<RubyFile, Keyed>] what is there, none or more
        # @raise [ConfigError] when a file cannot be read
        def find(folder)
          server = SERVERS.lazy.filter_map { |reader| first_of(reader, folder) }.first
          [server, first_of(Thruster, folder)].compact
        end

        # @param path [String]
        # @param folder [String]
        # @return [RubyFile, Keyed]
        # @raise [ConfigError] when there is no such file, or nobody knows whose it is
        def read(path, folder)
          full = Config::Paths.expand(path, folder)
          raise ConfigError, "#{path} is a folder; name a file in it" if File.directory?(full)
          raise ConfigError, "there is no file #{path}" unless File.exist?(full)

          reader = reader_of(path) || raise(ConfigError, "cannot tell from its name whose file " \
                                                         "#{path} is; #{known}")
          load_file(reader, full, path) ||
            raise(ConfigError, "#{path} does not start Thruster, so there is nothing to bring over")
        end

        # @return [String] what may be read
        def known
          "known are files with #{NAMES.keys[0..-2].join(", ")} in their names, and a Dockerfile " \
            "that starts Thruster"
        end

        private

        def first_of(reader, folder)
          path, *others = reader::FILES.select { |name| File.file?(File.join(folder, name)) }
          return unless path

          source = load_file(reader, File.join(folder, path), path)
          source&.unread = others
          source
        end

        def reader_of(path)
          words = path.downcase
          NAMES.find { |name, _| File.basename(words).include?(name) }&.last ||
            NAMES.find { |name, _| words.include?(name) }&.last
        end

        def load_file(reader, full, path)
          text = File.read(full, encoding: Encoding::UTF_8)
          raise ConfigError, "#{path} is no text in UTF-8" unless text.valid_encoding?

          reader.respond_to?(:read) ? reader.read(text, path) : reader.new(text, path)
        rescue Errno::ENOENT
          raise ConfigError, "there is no file #{path}"
        rescue SystemCallError => e
          raise ConfigError, "cannot read #{path}: #{SourceError.reason(e)}"
        end
      end
    end
  end
end
