# frozen_string_literal: true

# From settings to a server that runs as this process: checks what the system allows, takes the pidfile, loads the application, makes the heap ready, serves, and
# gives back what was taken. `neverblock serve` and the Rack handlers start here.

require "neverblock/boot/heap"
require "neverblock/boot/limits"
require "neverblock/boot/notices"
require "neverblock/boot/processors"
require "neverblock/boot/spool"
require "neverblock/server/pid_file"

module NeverBlock
  module Boot
    class Launch
      # @param settings [Config::Settings]
      # @param environment [Config::Environment]
      # @param out [IO] where "Listening on URL" goes
      def initialize(settings, environment, out: $stdout)
        @settings = settings
        @environment = environment
        @out = out
      end

      # Serves until told to stop.
      # @param warnings [Array<String>] further lines for the log
      # @yieldreturn [#call] the Rack application, loaded once everything else is known to be right
      # @return [Integer] exit status
      # @raise [Error] when it cannot start
      def run(warnings: [], &load)
        config = @settings.config
        name = @environment.apply_name(@settings.on_command_line(:environment), @settings.in_file(:environment))
        limits = Limits.new(config)
        limits.check_fibers
        Spool.check(config.spool_directory)
        lines = limits.raise_descriptors + limits.tight_memory(Processors.workers(@settings[:workers])) + [Notices.enable_yjit(@settings[:yjit])] + warnings
        holding_pidfile { serve(config, name, lines, &load) }
      end

      # As TERM would, once it serves. Any thread. (Sinatra calls it.)
      # @return [void]
      def stop
        @runner&.signal("TERM")
      end

      private

      def serve(config, name, lines)
        require "neverblock"
        app = yield
        NeverBlock.offload_threads = @settings[:"executor.offload_threads"]
        Heap.warm
        notices = [Notices.banner(config, name), Notices.weaker_ruby, *lines].compact
        @runner = Server::Runner.new(Server.new(config, app), out: @out, notices: notices, abandon: method(:abandon))
        @runner.run
      end

      def holding_pidfile
        path = @settings[:pidfile]
        @pidfile = Server::PidFile.new(path).take if path
        yield
      ensure
        @pidfile&.release
      end

      # No ensure runs after this.
      def abandon(status)
        @pidfile&.release
        Process.exit!(status)
      end
    end
  end
end
