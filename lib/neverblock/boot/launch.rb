# frozen_string_literal: true

# Starts a server in this process from its settings: checks the limits of the system, takes the
# pidfile, loads the application, prepares the heap, serves, and releases what it took. `neverblock
# serve` and the Rack handlers start here.

require "neverblock/boot/advice"
require "neverblock/boot/heap"
require "neverblock/boot/hooks"
require "neverblock/boot/last_exit"
require "neverblock/boot/limits"
require "neverblock/boot/notices"
require "neverblock/boot/processors"
require "neverblock/boot/spool"
require "neverblock/boot/stacks"
require "neverblock/rails/solid_queue"
require "neverblock/server/control"
require "neverblock/server/control/commands"
require "neverblock/server/inheritance"
require "neverblock/server/pid_file"
require "neverblock/server/restart_file"

module NeverBlock
  module Boot
    class Launch
      # @param settings [Config::Settings]
      # @param environment [Config::Environment]
      # @param out [IO] receives "Listening on URL"
      # @param origin [Cluster::Origin, nil] how this command was started; nil: the application
      #   cannot be loaded again
      # @param again [Again, nil] starts this process again; nil: it cannot be started again
      # @param inheritance [Server::Inheritance] what this process was started with
      # @param greet [#call, nil] called with the server once it listens
      def initialize(settings, environment, out: $stdout, origin: nil, again: nil, greet: nil,
                     inheritance: Server::Inheritance.new)
        @settings = settings
        @again = again
        @inheritance = inheritance
        @environment = environment
        @out = out
        @origin = origin
        @greet = greet
      end

      # Serves until it is told to stop.
      # @param warnings [Array<String>] further lines for the log
      # @param deep [Boolean] whether the application's calls may want a thread's stack
      # @yieldreturn [#call] the Rack application, loaded after all checks
      # @return [Integer] exit status
      # @raise [Error] when it cannot start
      def run(warnings: [], deep: true, &load)
        config = @settings.config
        name = environment_name
        limits = Limits.new(config)
        limits.check_fibers
        spool = Spool.check(config.spool_directory)
        lines = [*(Stacks.notice if deep), *spool, *limits.raise_descriptors,
                 *limits.tight_memory(workers), *@settings.replaced_binds,
                 *Notices.near_environment(name, folder), *warnings]
        status = holding_pidfile { serve(config, name, lines, &load) }
        LastExit.replace { @again.exec } if @runner.again? && status.zero?
        status
      end

      # Stops like TERM, once the server runs. Thread-safe. Sinatra calls it.
      # @return [void]
      def stop
        @runner&.signal("TERM")
      end

      private

      def environment_name
        @environment.apply_name(@settings.on_command_line(:environment),
                                @settings.in_file(:environment))
      end

      def serve(config, name, lines, &load)
        require "neverblock/library"
        require "neverblock/server"
        server = workers > 1 ? front(&load) : single(config, lines, &load)
        controlled(server) do |problem|
          banner = Notices.banner(config, name, workers)
          notices = [banner, *lines, problem].compact
          @runner = Server::Runner.new(server, out: @out, notices: notices, again: @again,
                                               greet: method(:greet), abandon: method(:abandon))
          accompanied(server, config) { @runner.run }
        end
      end

      # Runs the block beside the watch of the restart file and Solid Queue.
      def accompanied(server, config)
        watch = watch_restart_file(folder)
        jobs = solid_queue(server.log, folder, config) if @settings[:solid_queue]
        jobs&.problem ? server.log.warn(jobs.problem) : jobs&.start
        yield
      ensure
        watch&.kill
        jobs&.stop
      end

      # @return [String] the application's
      def folder
        @origin ? @origin.application(@settings[:directory]) : Dir.pwd
      end

      def solid_queue(log, folder, config)
        SolidQueueProcess.new(log, directory: folder, stop_s: config.shutdown_timeout,
                                   variables: @origin ? @origin.folder_variables : {})
      end

      def watch_restart_file(folder)
        path = Server::RestartFile.path(@settings[:restart_file], folder)
        return unless path && (@again || workers > 1)

        Server::RestartFile.new(path).watch { @runner.restart }
      end

      # Runs the block with a control socket, if there is a pidfile.
      # @yieldparam problem [String, nil] why the control socket could not be opened
      def controlled(server)
        if @settings[:pidfile]
          upgrade = ->(&progress) { @runner.upgrade(&progress) }
          commands = Server::Control::Commands.new(server, upgrade: upgrade).to_h
          @control = Server::Control.new(@settings[:pidfile], commands)
        end
        status = yield (@control&.open unless @inheritance.predecessor)
      ensure
        @control&.close(status)
      end

      # The server that this one replaces has pidfile and control socket until this one serves.
      def greet(server)
        if @inheritance.predecessor
          @pidfile&.take(after: @inheritance.predecessor)
          @control&.open&.then { |problem| server.log.warn(problem) }
          @inheritance.ready
        end
        @greet&.call(server)
      end

      def single(config, lines)
        advices = [Notices.enable_yjit(@settings[:yjit]), Notices.newer_ruby]
        lines << Advice.line(advices, wanted: @settings[:log_advice])
        Heap.prepare
        app = yield
        Hooks.call(@settings, :after_fork, 0)
        lines.concat(Application.notices, Hooks.uncalled(@settings))
        NeverBlock.offload_threads = @settings[:"executor.offload_threads"]
        Heap.warm
        NeverBlock::Heap.make_room_beside_application
        Server.new(config, app, inheritance: @inheritance)
      end

      # Another process loads the application, unless it is loaded here already.
      def front(&load)
        require "neverblock/cluster/front"
        app = @origin ? nil : load.call
        Cluster::Front.new(@settings, origin: @origin, environment: @environment, app: app,
                                      inheritance: @inheritance)
      end

      def workers
        Processors.workers(@settings[:workers])
      end

      def holding_pidfile
        path = @settings[:pidfile]
        @pidfile = Server::PidFile.new(path) if path
        @pidfile&.take unless @inheritance.predecessor
        yield
      ensure
        @pidfile&.release
      end

      # Ends the process without running its ensure and at_exit blocks.
      def abandon(status)
        @control&.close(status)
        @pidfile&.release
        Process.exit!(status)
      end
    end
  end
end
