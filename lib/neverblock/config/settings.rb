# frozen_string_literal: true

# The value of every setting. Precedence: the command line, then the environment, then the
# configuration file, then the default.

require "neverblock/config"
require "neverblock/config/environment"

module NeverBlock
  class Config
    class Settings
      # @param command [Hash{Symbol => Object}] values of the command line, by Option#key
      # @param environment [Environment]
      # @param file [Hash{Symbol => Object}] values of the configuration file
      # @raise [ConfigError] for a wrong variable
      def initialize(command: {}, environment: Environment.new({}), file: {})
        @command = command
        @environment = environment
        @file = file
        @values = file.merge(environment.values, command)
      end

      # @param key [Symbol] see Option#key
      def [](key)
        @values.fetch(key) { Catalog[key].default }
      end

      # @param key [Symbol]
      # @return the value in the file, or nil
      def in_file(key)
        @file[key]
      end

      # @param key [Symbol]
      # @return the value on the command line, or nil
      def on_command_line(key)
        @command[key]
      end

      # @return [Array<Bind>]
      # @raise [ConfigError]
      def binds
        return @command[:bind] if @command.key?(:bind)
        if @command.key?(:port) || @command.key?(:host)
          return [@environment.bind(port: @command[:port], host: @command[:host])]
        end

        of_environment || @file[:bind] || [Bind.parse(Catalog[:bind].default)]
      end

      # @return [String, nil] a line about addresses of the file that the environment replaces
      # @raise [ConfigError]
      def replaced_binds
        return if %i[bind port host].any? { |key| @command.key?(key) } || !@file.key?(:bind)

        there = of_environment or return
        gone = @file[:bind].reject { |bind| there.include?(bind) }
        return if gone.empty?

        variable = @environment.listening_variable
        "#{variable} replaces bind #{gone.join(" and ")} of " \
          "#{@command[:config] || Catalog[:config].default} (write -b, or unset #{variable})"
      end

      # @param fixed [Hash] further keywords of Config.new
      # @return [Config] for a server
      # @raise [ConfigError]
      def config(**fixed)
        Config.new(binds: binds, routes: self[:route] || [], files: files, secure: secure,
                   compressed_types: Array(self[:"compression.types"]),
                   report: self[:"sendfile.report"], on_download: self[:on_download] || [],
                   **executing, **plain, **engine, **fixed)
      end

      # Settings that have the same name as their keyword.
      PLAIN = %i[admin admin_token fibers backlog spool_directory log_format log_requests
                 early_hints redirect_https server_timing].freeze
      private_constant :PLAIN

      private

      # A file with the port of PORT has read that variable itself, and says more: a host, further
      # addresses.
      # @return [Array<Bind>, nil] nil: the file's count
      def of_environment
        binds = @environment.binds or return
        return binds unless @environment.listening_variable == "PORT"

        binds unless (@file[:bind] || []).any? { |bind| bind.port == @environment.port }
      end

      def plain
        PLAIN.to_h { |key| [key, self[key]] }
      end

      # A cooperative application gets no time slices, no spare executors and no lanes of its own.
      # One written with Async is such an application: its objects are not safe on several threads.
      def executing
        async = self[:scheduler] == :async
        cooperative = self[:cooperative] || async
        { slice_ms: (self[:"executor.slice_ms"] unless cooperative),
          spares: cooperative ? 0 : self[:"executor.spares"],
          stall_ms: self[:"executor.stall_ms"],
          stall_trace: self[:"executor.stall_trace"],
          own_lanes: !cooperative,
          async: async,
          learn_lanes: self[:learn_lanes] }
      end

      def files
        rows = { public_dirs: :public_dir, roots: :"sendfile.roots", accel: :accel, cache: :cache,
                 mime: :mime, index: :index }
        Files.new(**rows.transform_values { |key| Array(self[key]) })
      end

      def secure
        rows = Catalog.in_file(:tls)
        Secure.new(**rows.to_h do |row|
          value = self[row.key]
          [row.name, row.repeat ? Array(value) : value]
        end)
      end

      # Only settings that somebody has set; the engine has its own defaults.
      def engine
        rows = Catalog::ENGINE.select { |row| @values.key?(row.key) }
        rows.to_h { |row| [row.engine, row.to_engine(@values.fetch(row.key))] }
      end
    end
  end
end
