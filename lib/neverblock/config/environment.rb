# frozen_string_literal: true

# What the process's environment says, as hosting platforms set it: PORT, RACK_ENV, RAILS_ENV. A command-line option goes before it.

require "neverblock/config"

module NeverBlock
  class Config
    class Environment
      DEFAULT_NAME = "development"

      # @param env [Hash, ENV]
      def initialize(env)
        @env = env
      end

      # @return [Integer, nil] PORT
      # @raise [ConfigError]
      def port
        text = value("PORT") or return nil

        Config.integer(text, 0..Bind::PORT_MAX, "PORT (in the environment)")
      end

      # The address that goes with a port nobody gave an address for: a platform that says PORT means every address of the machine.
      # @return [String]
      def host
        value("PORT") ? "0.0.0.0" : "127.0.0.1"
      end

      # @param port [Integer, nil] from the command line
      # @param host [String, nil] from the command line
      # @return [Bind]
      # @raise [ConfigError]
      def bind(port: nil, host: nil)
        host ||= self.host
        port ||= self.port || 9292
        Bind.parse(host.include?(":") && !host.start_with?("[") ? "http://[#{host}]:#{port}" : "http://#{host}:#{port}")
      end

      # Makes RACK_ENV (and for a name from the command line, RAILS_ENV) say what this server runs as.
      # @param chosen [String, nil] from the command line
      # @return [String]
      def apply_name(chosen = nil)
        @env["RAILS_ENV"] = chosen if chosen
        @env["RACK_ENV"] = chosen || value("RACK_ENV") || value("RAILS_ENV") || DEFAULT_NAME
      end

      # @return [Array<String>] one line for each variable of the interface that has no effect yet
      def warnings
        lines = []
        workers = value("WEB_CONCURRENCY")
        lines << "WEB_CONCURRENCY=#{workers} has no effect yet: this version runs one process" if workers && workers != "1"
        lines << "PIDFILE has no effect yet: no file is written" if value("PIDFILE")
        lines
      end

      private

      def value(name)
        text = @env[name]
        text unless text.nil? || text.empty?
      end
    end
  end
end
