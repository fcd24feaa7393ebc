# frozen_string_literal: true

# From settings to a server that runs as this process: checks what the system allows, takes the pidfile, loads the application, makes the heap ready, serves, and
# gives back what was taken. `neverblock serve` and the Rack handlers start here.

require "neverblock/boot/heap"
require "neverblock/boot/limits"
require "neverblock/boot/notices"
require "neverblock/boot/processors"
require "neverblock/boot/spool"
require "neverblock/boot/stacks"
require "neverblock/rails/solid_queue"
require "neverblock/server/control"
require "neverblock/server/control/commands"
require "neverblock/server/pid_file"
require "neverblock/server/restart_file"

module NeverBlock
  module Boot
    class Launch
      # @param settings [Config::Settings]
      # @param environment [Config::Environment]
      # @param out [IO] where "Listening on URL" goes
      # @param origin [Cluster::Origin, nil] how this command was started; nil: the application cannot be loaded again
      # @param again [#call, nil] makes this process what it was at its start; nil: it cannot be started again
      # @param greet [#call, nil] takes the server, once it serves and has said where
      def initialize(settings, environment, out: $stdout, origin: nil, again: nil, greet: nil)
        @settings = settings
        @again = again
        @environment = environment
        @out = out
        @origin = origin
        @greet = greet
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
        spool = Spool.check(config.spool_directory)
        lines = [*Stacks.notice, *spool, *limits.raise_descriptors, *limits.tight_memory(workers), *warnings]
        status = holding_pidfile { serve(config, name, lines, &load) }
        @again.call if @runner.again? && status.zero?
        status
      end

      # As TERM would, once it serves. Any thread. (Sinatra calls it.)
      # @return [void]
      def stop
        @runner&.signal("TERM")
      end

      private

      def serve(config, name, lines, &load)
        require "neverblock/library"
        server = workers > 1 ? front(&load) : single(config, lines, &load)
        controlled(server) do |problem|
          notices = [Notices.banner(config, name, workers), Notices.weaker_ruby, *lines, problem].compact
          @runner = Server::Runner.new(server, out: @out, notices: notices, abandon: method(:abandon), greet: @greet)
          accompanied(server, config) { @runner.run }
        end
      end

      # With what runs beside the server: who looks whether it is to be started again, and Solid Queue.
      def accompanied(server, config)
        path = Server::RestartFile.path(@settings[:restart_file])
        watch = Server::RestartFile.new(path).watch { @runner.restart } if path && (@again || workers > 1)
        jobs = SolidQueueProcess.new(server.log, stop_s: config.shutdown_timeout) if @settings[:solid_queue]
        jobs&.problem ? server.log.warn(jobs.problem) : jobs&.start
        yield
      ensure
        watch&.kill
        jobs&.stop
      end

      # Who finds the server by its pidfile may ask it things.
      # @yieldparam problem [String, nil] why nobody can
      def controlled(server)
        @control = Server::Control.new(@settings[:pidfile], Server::Control::Commands.new(server).to_h) if @settings[:pidfile]
        status = yield @control&.open
      ensure
        @control&.close(status)
      end

      def single(config, lines)
        lines.unshift(*Notices.enable_yjit(@settings[:yjit]))
        Heap.prepare
        app = yield
        lines.concat(Application.notices)
        NeverBlock.offload_threads = @settings[:"executor.offload_threads"]
        Heap.warm
        NeverBlock::Heap.make_room_beside_application
        Server.new(config, app)
      end

      # What loads the application is another process, but where it is loaded already.
      def front(&load)
        require "neverblock/cluster/front"
        Cluster::Front.new(@settings, origin: @origin, environment: @environment, app: @origin ? nil : load.call)
      end

      def workers
        Processors.workers(@settings[:workers])
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
        @control&.close(status)
        @pidfile&.release
        Process.exit!(status)
      end
    end
  end
end
