# frozen_string_literal: true

require "json"
require "yaml"
require "neverblock/errors"
require "neverblock/init/checked"
require "neverblock/init/ruby_file"

module NeverBlock
  module Init
    # Settings that are names with values, and no Ruby. A subclass has the tables.
    class Keyed
      UNKNOWN = "the value has a variable in it, which is not known here"
      # Settings for which 0 means that there is no limit, with what to do instead.
      UNLIMITED = {}.freeze
      # Settings that are on or off, and the words for that.
      SWITCHES = [].freeze
      FLAGS = { **%w[1 t T true TRUE True].to_h { |word| [word, true] },
                **%w[0 f F false FALSE False].to_h { |word| [word, false] } }.freeze

      # @return [String]
      attr_reader :name
      # @return [Array<String>, nil] names of files of the same server that were not read
      attr_accessor :unread

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
        return own_value(key, value) if self.class::SETTINGS.key?(key)

        note = self.class::NEEDLESS[key] and return Translation.needless(note)
        note = self.class::MISSING[key]
        Translation.missing(note || "#{server}'s #{key} is not known to neverblock init: see " \
                                    "`neverblock --help-config` for what there is")
      end

      # Nothing but a plain value is written: a number, true, false or a text.
      def own_value(key, value)
        return Translation.missing(UNKNOWN) if variable?(value)

        unlimited = self.class::UNLIMITED[key] if value.to_s.match?(/\A0+\z/)
        return Translation.missing(unlimited) if unlimited

        value = self.class::FLAGS.fetch(value.to_s) { value } if self.class::SWITCHES.include?(key)
        line = format(self.class::SETTINGS.fetch(key), value: plain(value), text: value.to_s.dump)
        Checked.translation(line)
      end

      def plain(value)
        text = value.to_s
        text.match?(/\A(?:\d+|\d+\.\d+|true|false)\z/) ? text.sub(/\A0+(?=\d)/, "") : text.dump
      end

      # @param keys [Array<String>] what the line is made from
      # @param line [String] of config/neverblock.rb
      def address(keys, line)
        return unknown(keys) if variable?(*@values.values_at(*keys))

        [entry_of(keys, Checked.translation(line))]
      end

      # @return [String] as a URL has it
      def host
        host = @values.fetch("address", "0.0.0.0").to_s
        host.match?(/\A[^\[].*:/) ? "[#{host}]" : host
      end

      # Whether a shell or a builder puts something else there.
      def variable?(*_values) = false

      def unknown(keys) = [entry_of(keys, Translation.missing(UNKNOWN))]

      def entry_of(keys, translation)
        text = keys.filter_map { |key| "#{key}: #{@values[key]}" if @values.key?(key) }.join(", ")
        Entry.new(place: @name, text: text, indent: 0, translation: translation)
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
      UNLIMITED = {
        "max_request_queue_size" => "0 is no limit there; limits { queue 1_000_000 } is the largest"
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
        values = JSON.parse(text)
        return new(values, name) if values.is_a?(Hash)

        raise ConfigError, "#{name} has no settings: it must be names and values in JSON"
      rescue JSON::ParserError => e
        raise ConfigError, "#{name} is not valid JSON: #{e.message.lines.first.to_s.strip}"
      end

      private

      def addresses
        file = @values["socket_file"]
        return address(ADDRESS, "bind #{"unix://#{file}".dump}") if file
        return [] unless @values.keys.intersect?(ADDRESS)

        port = @values.fetch("port", 3000)
        scheme = @values["ssl"] ? "https" : "http"
        address(ADDRESS, "bind #{"#{scheme}://#{host}:#{port}#{files}".dump}")
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
      UNLIMITED = { "timeout" => "0 is no limit there; a time is needed here" }.freeze
      NEEDLESS = {
        "servers" => "one address is enough: `workers :auto` is a process for each CPU behind it",
        "threaded" => "a request runs in a fiber", "threadpool_size" => "a request runs in a fiber",
        "no-epoll" => "the I/O loop takes the best that the system has",
        "max_persistent_conns" => "connections are kept as long as limits { connections } allows",
        "daemonize" => "let the service manager run the server",
        "onebyone" => "`neverblock reload` replaces all workers in one step",
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
        if @values["socket"]
          return address(ADDRESS, "bind #{"unix://#{@values["socket"]}".dump}")
        end
        return [] unless @values.keys.intersect?(ADDRESS)

        address(ADDRESS, "bind #{"http://#{host}:#{@values.fetch("port", 3000)}".dump}")
      end
    end
  end
end
