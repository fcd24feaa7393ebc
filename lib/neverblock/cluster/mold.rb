# frozen_string_literal: true

# The mold: the process that workers are forked from, as in a preloading server. It loads the
# application once (with preload_app false, each worker does), has one thread, forks when the front
# asks, and reaps its children. It serves no requests.
#
#   commands   { do: "fork", id:, number:, descriptors:, links: } with that many descriptors for the
#              worker: those of its links, and last its end of a control socket.   { do: "quit" }
#   events     { event: "loaded", settings:, threads:, notices: }   { event: "failed", message: }
#              { event: "forked", id:, pid: }   { event: "not_forked", id:, message: }
#              { event: "ended", id:, pid:, code:, signal: }
#
# When its control socket is closed, the front has ended. The mold exits at once, and never runs the
# application's at_exit blocks.

require "neverblock/errors/backtrace"
require "neverblock/library"
require "neverblock/server"
require "neverblock/boot/application"
require "neverblock/boot/heap"
require "neverblock/boot/hooks"
require "neverblock/boot/advice"
require "neverblock/boot/notices"
require "neverblock/cluster/control"
require "neverblock/cluster/fork_safety"
require "neverblock/cluster/last_words"
require "neverblock/cluster/settings"
require "neverblock/cluster/title"
require "neverblock/cluster/worker"

module NeverBlock
  module Cluster
    class Mold
      NO_DESCRIPTORS = "the process that has loaded the application has no descriptors left for " \
                       "a worker: the application keeps too many open, or ulimit -n is too low"
      # Signals that a terminal or a service manager sends to all processes of a server. The front
      # handles them.
      LEFT_TO_THE_FRONT = %w[INT QUIT TERM HUP USR1 USR2 TTIN TTOU].freeze
      # Seconds between checks of the children, in case a handler of the application takes a
      # SIGCHLD.
      LOOK_S = 1
      FAILED = 1

      # @param control [Control]
      def initialize(control)
        @control = control
        @children = {}
        @wake, @waker = IO.pipe
        LEFT_TO_THE_FRONT.each { |name| Signal.trap(name) { nil } }
        Title.set("mold")
        NeverBlock.end_with_parent(true) # loading an application may never end
        leave if @control.gone?
      end

      # Reports an error of the block to the front, and exits.
      def guard
        yield
      rescue Error => e
        fail_with(e.message, e)
      rescue SystemExit => e
        fail_with(Application.exit_told(e), e)
      rescue Exception => e # rubocop:disable Lint/RescueException -- the front is told about it
        place = " at #{e.backtrace.first}" if e.backtrace
        fail_with("unexpected #{e.class}: #{e.message}#{place}", e)
      end

      # Loads the application, reports it, and forks until the front has ended.
      # @param settings [Config::Settings]
      # @param environment [Config::Environment]
      # @param rackup [String, nil] the rackup file
      # @yieldparam rackup [String, nil]
      # @yieldreturn [#call] the application
      # @raise [Error]
      def run(settings, environment, rackup = nil, &load)
        prepare(settings, environment, rackup, &load)
        # From here on the end of the front is noticed on the socket. This process's parent is a
        # thread of the front, which may end earlier.
        NeverBlock.end_with_parent(false)
        serve
      end

      private

      def prepare(settings, environment, rackup, &load)
        @settings = settings
        @config = settings.config
        apply_environment_name(environment)
        advices = [Boot::Notices.enable_yjit(settings[:yjit]), Boot::Notices.newer_ruby]
        notices = [Boot::Advice.line(advices, wanted: settings[:log_advice])]
        Application.require_rack
        @load = -> { load.call(rackup) }
        Boot::Heap.prepare
        notices.concat(preload) if settings[:preload_app]
        Boot::Heap.share
        Signal.trap("CHLD") { @waker.write_nonblock(".", exception: false) }
        @control.tell({ event: "loaded", settings: Settings.of(settings),
                        threads: ForkSafety.threads_left, notices: notices.compact })
      end

      def apply_environment_name(environment)
        environment.apply_name(@settings.on_command_line(:environment),
                               @settings.in_file(:environment))
      end

      def preload
        app = @load.call
        @load = -> { app }
        Application.notices
      end

      def serve
        loop do
          readable, = IO.select([@control.io, @wake], nil, nil, LOOK_S)
          @wake.read_nonblock(64, exception: false) if readable&.include?(@wake)
          reap
          listen if readable&.include?(@control.io)
        end
      end

      def listen
        (@control.read || leave).each { |message| obey(message) }
      end

      def obey(message)
        case message[:do]
        when "fork" then fork_worker(*message.values_at(:id, :number, :descriptors, :links))
        when "quit" then leave
        end
      end

      def fork_worker(id, number, count, links)
        descriptors = @control.take(count)
        # recvmsg(2) leaves out descriptors that exceed the limit.
        raise Error, NO_DESCRIPTORS if descriptors.size < count

        Boot::Hooks.call(@settings, :before_fork)
        ForkSafety.before
        pid = fork { become_worker(number, descriptors, links) }
        @children[pid] = id
        @control.tell({ event: "forked", id: id, pid: pid })
      rescue Exception => e # rubocop:disable Lint/RescueException -- a hook may raise anything
        problem = e.is_a?(Error) ? e.message : LastWords.raised(e)
        @control.tell({ event: "not_forked", id: id, message: problem })
      ensure
        descriptors.each(&:close)
      end

      def become_worker(number, descriptors, links)
        [@wake, @waker].each(&:close)
        @control.close
        *channel, control = descriptors
        # A front of an older version has no links for spares.
        links = channel.each_slice(channel.size / (links || 1)).to_a
        exit(Worker.new(number, @settings, @config, Control.new(control)).run(links, &@load))
      end

      # Waits only for its own children: an application may start others while it is loaded.
      def reap
        @children.keys.each do |pid|
          _, status = ::Process.wait2(pid, ::Process::WNOHANG)
          next unless status

          tell_ended(pid, code: status.exitstatus, signal: status.termsig)
        rescue Errno::ECHILD # the application has waited for any child
          tell_ended(pid)
        end
      end

      def tell_ended(pid, **status)
        @control.tell({ event: "ended", id: @children.delete(pid), pid: pid, **status })
      end

      def fail_with(message, error)
        @control.tell({ event: "failed", message: message })
        trace = (error.cause || error).full_message(highlight: false)
        warn(trace) if Backtrace.whole?
        ::Process.exit!(FAILED)
      end

      def leave
        ::Process.exit!(0)
      end
    end
  end
end
