# frozen_string_literal: true

# The settings of the process's environment, as hosting platforms set them: PORT, BIND, RACK_ENV and
# the other variables of the catalog. Options of the command line take precedence over them; they
# take precedence over the configuration file.

require "neverblock/config"

module NeverBlock
  class Config
    class Environment
      DEFAULT_NAME = Catalog[:environment].default
      EVERY_ADDRESS = "0.0.0.0"
      # Settings that #bind and #binds read.
      LISTENING = %i[bind port host].freeze
      # Where Puma serves from a single process: [variable, what it is]; and what that is here.
      OF_PUMA = { %w[WEB_CONCURRENCY 0] => "1" }.freeze

      # @param env [Hash, ENV]
      def initialize(env)
        @env = env
      end

      # All settings of the environment but the addresses.
      # @return [Hash{Symbol => Object}] by Option#key
      # @raise [ConfigError]
      def values
        Catalog::OPTIONS.each_with_object({}) do |row, found|
          next if row.later || LISTENING.include?(row.key)

          name = row.env.find { |variable| value(variable) } or next
          text = value(name)
          found[row.key] = read(row, name, OF_PUMA.fetch([name, text.strip], text))
        end
      end

      # @return [Integer, nil] PORT
      # @raise [ConfigError]
      def port
        read(Catalog[:port], "PORT") if value("PORT")
      end

      # The host for a port without one. On platforms that set PORT it is every address of the
      # machine, unless HOST is set too. HOST alone has no effect: shells of the csh family set it
      # to the machine's name.
      # @return [String]
      # @raise [ConfigError]
      def host
        return Catalog[:host].default unless value("PORT")

        value("HOST") ? read(Catalog[:host], "HOST") : EVERY_ADDRESS
      end

      # @param port [Integer, nil] from the command line
      # @param host [String, nil] from the command line
      # @return [Bind]
      # @raise [ConfigError]
      def bind(port: nil, host: nil)
        host ||= self.host
        port ||= self.port || Catalog[:port].default
        host = "[#{host}]" if host.include?(":") && !host.start_with?("[")
        Bind.parse("http://#{host}:#{port}")
      end

      # @return [Array<Bind>, nil] those of BIND (URLs separated by spaces), or of PORT; nil when
      #   neither is set
      # @raise [ConfigError]
      def binds
        return value("PORT") && [bind] unless value("BIND")

        row = Catalog[:bind]
        value("BIND").split.inject([]) do |found, url|
          row.append(found, read(row, "BIND", url), "BIND")
        end
      end

      # @return [String, nil] the variable that #binds reads
      # @raise [ConfigError]
      def listening_variable
        %w[BIND PORT].find { |variable| value(variable) }
      end

      # Sets RACK_ENV to the environment this server runs in. With a name from the command line,
      # also sets the variables that frameworks read first.
      # @param chosen [String, nil] from the command line
      # @param otherwise [String, nil] from the configuration file
      # @return [String]
      def apply_name(chosen = nil, otherwise = nil)
        if chosen
          @env["RAILS_ENV"] = chosen
          @env["APP_ENV"] = chosen if value("APP_ENV")
        end
        @env["RACK_ENV"] = chosen || name_in_environment || otherwise || DEFAULT_NAME
      end

      private

      def name_in_environment
        Catalog[:environment].env.filter_map { |variable| value(variable) }.first
      end

      def read(row, variable, text = value(variable))
        row.read(text, "#{variable} (in the environment)")
      end

      # @raise [ConfigError]
      def value(name)
        text = @env[name] or return
        unless text.valid_encoding?
          raise ConfigError, "#{name} (in the environment) is no text in #{text.encoding}; " \
                             "got #{text.inspect}"
        end

        text unless text.strip.empty?
      end
    end
  end
end
