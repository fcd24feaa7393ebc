# frozen_string_literal: true

# Every setting's value, whoever gave it: the command line before the environment, that before the configuration file, that before the default.

require "neverblock/config"
require "neverblock/config/environment"

module NeverBlock
  class Config
    class Settings
      # @param command [Hash{Symbol => Object}] values of the command line, by Option#key
      # @param environment [Environment]
      # @param file [Hash{Symbol => Object}] values of the configuration file
      # @raise [ConfigError] of a variable
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
      # @return whatever the file alone says
      def in_file(key)
        @file[key]
      end

      # @param key [Symbol]
      # @return whatever the command line alone says
      def on_command_line(key)
        @command[key]
      end

      # @return [Array<Bind>]
      # @raise [ConfigError]
      def binds
        return @command[:bind] if @command.key?(:bind)
        return [@environment.bind(port: @command[:port], host: @command[:host])] if @command.key?(:port) || @command.key?(:host)

        @environment.binds || @file[:bind] || [Bind.parse(Catalog[:bind].default)]
      end

      # @param fixed [Hash] further keywords of Config.new
      # @return [Config] for a server
      # @raise [ConfigError]
      def config(**fixed)
        slice_ms = self[:cooperative] ? nil : self[:"executor.slice_ms"]
        options = %i[admin fibers backlog spool_directory log_format log_requests early_hints].to_h { |key| [key, self[key]] }
        Config.new(binds: binds, routes: self[:route] || [], files: files, report: self[:"sendfile.report"], on_download: self[:on_download] || [], spares: spares,
                   stall_ms: self[:"executor.stall_ms"], own_lanes: !self[:cooperative], learn_lanes: self[:learn_lanes],
                   slice_ms: slice_ms, **options, **engine, **fixed)
      end

      private

      # An application that says it is not safe on several threads gets none.
      def spares
        self[:cooperative] ? 0 : self[:"executor.spares"]
      end

      def files
        rows = { public_dirs: :public_dir, roots: :"sendfile.roots", accel: :accel, cache: :cache, mime: :mime, index: :index }
        Files.new(**rows.transform_values { |key| Array(self[key]) })
      end

      # Only what somebody said: the rest is the engine's own default.
      def engine
        Catalog::ENGINE.select { |row| @values.key?(row.key) }.to_h { |row| [row.engine, row.to_engine(@values.fetch(row.key))] }
      end
    end
  end
end
