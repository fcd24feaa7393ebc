# frozen_string_literal: true

require "json"
require "yaml"
require "neverblock/errors"
require "neverblock/init/ruby_file"

module NeverBlock
  module Init
    # Settings that are names with values, and no Ruby. A subclass has the tables.
    class Keyed
      # @return [String]
      attr_reader :name

      # @param values [Hash{String => Object}]
      # @param name [String] where they are written
      def initialize(values, name)
        @values = values
        @name = name
      end

      # @return [String]
      def server = self.class::SERVER

      # @return [Array<Entry>]
      def entries
        @entries ||= addresses + @values.filter_map do |key, value|
          next if self.class::ADDRESS.include?(key)

          Entry.new(place: @name, text: "#{key}: #{value}", indent: 0,
                    translation: translate(key, value))
        end
      end

      private

      def addresses = []

      def translate(key, value)
        found = self.class::SETTINGS[key]
        return Translation.carried(format(found, value: value, text: value.to_s.dump)) if found

        note = self.class::NEEDLESS[key] and return Translation.needless(note)
        note = self.class::MISSING[key]
        Translation.missing(note || "#{server}'s #{key} is not known to neverblock init: see " \
                                    "`neverblock --help-config` for what there is")
      end

      def address(keys, line)
        text = keys.filter_map { |key| "#{key}: #{@values[key]}" if @values.key?(key) }.join(", ")
        [Entry.new(place: @name, text: text, indent: 0, translation: Translation.carried(line))]
      end
    end

    # Passengerfile.json.
    class Passenger < Keyed
      SERVER = "Passenger"
      FILES = %w[Passengerfile.json].freeze
      ADDRESS = %w[address port socket_file ssl ssl_certificate ssl_certificate_key].freeze
      SETTINGS = {
        "environment" => "environment %<text>s", "pid_file" => "pidfile %<text>s",
        "max_request_queue_size" => "limits { queue %<value>s }",
        "static_files_dir" => "public_dir %<text>s", "data_buffer_dir" => "spool_directory %<text>s"
      }.freeze
      POOL = "a worker serves up to 1,024 requests at once: `workers :auto` is one for each CPU"
      NEEDLESS = {
        "thread_count" => "a request runs in a fiber, not in a thread",
        "concurrency_model" => "a request runs in a fiber, not in a thread",
        "spawn_method" => "the application is loaded once and forked, see preload_app",
        "min_instances" => POOL, "max_pool_size" => POOL, "pool_idle_time" => POOL,
        "daemonize" => "let the service manager run the server",
        "turbocaching" => "there is no cache of responses here",
        "sticky_sessions" => "any worker serves any request",
        "friendly_error_pages" => "errors are in the log"
      }.freeze
      MISSING = {
        "user" => "let the service manager start the server as that user",
        "log_file" => "the log goes to standard output and error",
        "rackup" => "the file is named on the command line: neverblock FILE",
        "startup_file" => "the file is named on the command line: neverblock FILE",
        "envvars" => "set variables where the server is started",
        "max_requests" => "workers are not replaced by number; limits { worker_bytes } by memory",
        "memory_limit" => "limits { worker_bytes N }, in bytes, replaces a worker by its memory"
      }.freeze

      # @param text [String]
      def self.read(text, name)
        new(JSON.parse(text), name)
      rescue JSON::ParserError => e
        raise ConfigError, "#{name} is not valid JSON: #{e.message.lines.first.to_s.strip}"
      end

      private

      def addresses
        file = @values["socket_file"]
        return address(ADDRESS, "bind \"unix://#{file}\"") if file
        return [] unless @values.keys.intersect?(ADDRESS)

        host = @values.fetch("address", "0.0.0.0")
        port = @values.fetch("port", 3000)
        address(ADDRESS, "bind \"#{@values["ssl"] ? "https" : "http"}://#{host}:#{port}#{files}\"")
      end

      def files
        return unless @values["ssl"] && @values["ssl_certificate"]

        "?cert=#{@values["ssl_certificate"]}&key=#{@values["ssl_certificate_key"]}"
      end
    end

    # config/thin.yml.
    class Thin < Keyed
      SERVER = "Thin"
      FILES = %w[config/thin.yml thin.yml].freeze
      ADDRESS = %w[address port socket].freeze
      SETTINGS = {
        "environment" => "environment %<text>s", "pid" => "pidfile %<text>s",
        "chdir" => "directory %<text>s", "timeout" => "timeouts { body %<value>s }",
        "max_conns" => "limits { connections %<value>s }"
      }.freeze
      NEEDLESS = {
        "servers" => "one address is enough: `workers :auto` is a process for each CPU behind it",
        "threaded" => "a request runs in a fiber", "threadpool_size" => "a request runs in a fiber",
        "no-epoll" => "the I/O loop takes the best that the system has",
        "max_persistent_conns" => "connections are kept as long as limits { connections } allows",
        "daemonize" => "let the service manager run the server",
        "onebyone" => "`neverblock reload` replaces one worker after the other",
        "wait" => "a reload waits for its new workers", "require" => "require it in config.ru"
      }.freeze
      MISSING = {
        "log" => "the log goes to standard output and error",
        "rackup" => "the file is named on the command line: neverblock FILE",
        "user" => "let the service manager start the server as that user",
        "group" => "let the service manager start the server as that group",
        "prefix" => "mount the application below a path in config.ru: map \"/prefix\"",
        "tag" => "the name of a process tells its application already"
      }.freeze

      # @param text [String]
      def self.read(text, name)
        values = YAML.safe_load(text) || {}
        return new(values, name) if values.is_a?(Hash)

        raise ConfigError, "#{name} has no settings: it must be names and values in YAML"
      rescue Psych::Exception => e
        raise ConfigError, "#{name} is not valid YAML: #{e.message.lines.first.to_s.strip}"
      end

      private

      def addresses
        return address(ADDRESS, "bind \"unix://#{@values["socket"]}\"") if @values["socket"]
        return [] unless @values.keys.intersect?(ADDRESS)

        host = @values.fetch("address", "0.0.0.0")
        address(ADDRESS, "bind \"http://#{host}:#{@values.fetch("port", 3000)}\"")
      end
    end
  end
end
