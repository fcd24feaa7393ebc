# frozen_string_literal: true

# The admin address of a running server: the one of the command line, else that of the configuration
# file.

require "neverblock/config/bind"
require "neverblock/config/user_file"
require "neverblock/errors"

module NeverBlock
  module Watch
    module Address
      EXAMPLE = "http://127.0.0.1:9293"
      # For a server that listens on every address, the loopback address is asked.
      HERE = { "0.0.0.0" => "127.0.0.1", "::" => "::1" }.freeze

      module_function

      # @param given [String, nil] a URL from the command line
      # @param file [String, nil] the configuration file, as given to -C
      # @return [Config::Bind]
      # @raise [ConfigError] with the option that sets an admin address
      def find(given, file)
        return read(given) if given

        usable(read_file(file)[:admin]) || raise(ConfigError, missing(file))
      end

      # @param text [String]
      # @return [Config::Bind]
      # @raise [ConfigError]
      def read(text)
        usable(Config::Bind.parse_plain(text.sub(%r{\A(http://.+?)/status\.json\z}, '\1'), "ask"))
      end

      # @param bind [Config::Bind]
      # @return [Array(String, Integer)] host and port to connect to
      def host_and_port(bind)
        [HERE.fetch(bind.host, bind.host), bind.port]
      end

      # The server runs with the file as it was.
      def read_file(file)
        Config::UserFile.read(file)
      rescue ConfigError => e
        raise e.class, "#{e.message}; --admin #{EXAMPLE} asks without reading the file"
      end

      def usable(bind)
        bind = bind.last if bind.is_a?(Array)
        return bind unless bind && bind.port == 0

        raise ConfigError, "#{bind} means any free port; the server prints the real one when it " \
                           "starts: give that one to --admin"
      end

      def missing(file)
        "no admin address: #{searched(file)}. Start the server with --admin #{EXAMPLE} (in the " \
          "file: admin \"#{EXAMPLE}\"), then give --admin #{EXAMPLE} here too"
      end

      def searched(file)
        default = Config::UserFile::DEFAULT
        if file == Config::UserFile::NONE then "no configuration file is read"
        elsif file || File.exist?(default) then "#{file || default} sets none"
        else "there is no #{default} here"
        end
      end

      private_class_method :read_file, :usable, :missing, :searched
    end
  end
end
