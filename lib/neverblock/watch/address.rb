# frozen_string_literal: true

# Where a running server gives its figures: the address that was named, else the one of the configuration file.

require "neverblock/config/bind"
require "neverblock/config/user_file"
require "neverblock/errors"

module NeverBlock
  module Watch
    module Address
      EXAMPLE = "http://127.0.0.1:9293"
      # A server that listens on every address is asked on this machine's own.
      HERE = { "0.0.0.0" => "127.0.0.1", "::" => "::1" }.freeze

      module_function

      # @param given [String, nil] a URL
      # @param file [String, nil] the configuration file, as -C has it
      # @return [Config::Bind]
      # @raise [ConfigError] with what switches the admin address on
      def find(given, file)
        return read(given) if given

        usable(Config::UserFile.read(file)[:admin]) || raise(ConfigError, missing(file))
      end

      # @param text [String]
      # @return [Config::Bind]
      # @raise [ConfigError]
      def read(text)
        usable(Config::Bind.parse(text.sub(%r{\A(http://.+?)/status\.json\z}, '\1'), "ask"))
      end

      # @param bind [Config::Bind]
      # @return [Array(String, Integer)] host and port to connect to
      def host_and_port(bind)
        [HERE.fetch(bind.host, bind.host), bind.port]
      end

      def usable(bind)
        bind = bind.last if bind.is_a?(Array)
        return bind unless bind && bind.port == 0

        raise ConfigError, "#{bind} means any free port: the server says which when it starts, and --admin takes that one"
      end

      def missing(file)
        seen = if file == Config::UserFile::NONE then "no configuration file is read"
               elsif file || File.exist?(Config::UserFile::DEFAULT) then "#{file || Config::UserFile::DEFAULT} names none"
               else "there is no #{Config::UserFile::DEFAULT} here"
               end
        "no admin address: #{seen}. Start the server with --admin #{EXAMPLE} (in the file: admin \"#{EXAMPLE}\"), then say --admin #{EXAMPLE} here too"
      end

      private_class_method :usable, :missing
    end
  end
end
