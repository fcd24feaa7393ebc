# frozen_string_literal: true

# The process that workers are forked from: it loads the application once (or leaves that to them, preload_app false), has one thread, forks when the front says
# so, and reaps. It serves nothing.
#
#   it is told   { do: "fork", id:, number:, descriptors:, links: } with so many descriptors of the worker (those of so many links, and last its end of a control
#                socket);  { do: "quit" }
#   it tells     { event: "loaded", settings:, threads:, notices: }   { event: "failed", message: }   { event: "forked", id:, pid: }
#                { event: "not_forked", id:, message: }               { event: "ended", id:, pid:, code:, signal: }
#
# The end of its control socket is the end of the front: it leaves at once, and never runs the application's at_exit.

require "neverblock/library"
require "neverblock/boot/heap"
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
      NO_DESCRIPTORS = "no descriptors are left for a worker in the process that has loaded the application: the application keeps too many open, or ulimit -n is too low"
      # Signals that a terminal or a service manager sends to all processes of a server: the front decides.
      LEFT_TO_THE_FRONT = %w[INT TERM HUP USR2 TTIN TTOU].freeze
      # Seconds between looks at the children, should a SIGCHLD be lost to a handler of the application's.
      LOOK_S = 1
      FAILED = 1

      # @param control [Control]
      def initialize(control)
        @control = control
        @children = {}
        @wake, @waker = IO.pipe
        LEFT_TO_THE_FRONT.each { |name| Signal.trap(name) { nil } }
        Title.set("mold")
        NeverBlock.end_with_parent(true) # an application may be loaded for ever
        leave if @control.gone?
      end

      # Tells the front what went wrong before it was ready.
      def guard
        yield
      rescue Error => e
        fail_with(e.message, e)
      rescue SystemExit => e
        fail_with("the application called exit(#{e.status}) while it was loaded", e)
      rescue Exception => e # rubocop:disable Lint/RescueException -- whatever it is, the front is told
        fail_with("unexpected #{e.class}: #{e.message}#{" at #{e.backtrace.first}" if e.backtrace}", e)
      end

      # Loads, tells, and forks until there is no front any more.
      # @param settings [Config::Settings]
      # @param environment [Config::Environment]
      # @param rackup [String, nil] its file
      # @yieldparam rackup [String, nil]
      # @yieldreturn [#call] the application
      # @raise [Error]
      def run(settings, environment, rackup = nil, &load)
        prepare(settings, environment, rackup, &load)
        NeverBlock.end_with_parent(false) # from here on the front's end is heard; what made this process is a thread of it, which may be gone before it
        serve
      end

      private

      def prepare(settings, environment, rackup, &load)
        @settings = settings
        @config = settings.config
        environment.apply_name(settings.on_command_line(:environment), settings.in_file(:environment))
        notices = [Boot::Notices.enable_yjit(settings[:yjit])]
        Application.require_rack
        @load = -> { load.call(rackup) }
        Boot::Heap.prepare
        notices.concat(preload) if settings[:preload_app]
        Boot::Heap.share
        Signal.trap("CHLD") { @waker.write_nonblock(".", exception: false) }
        @control.tell({ event: "loaded", settings: Settings.of(settings), threads: ForkSafety.threads_left, notices: notices.compact })
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
          (@control.read || leave).each { |message| obey(message) } if readable&.include?(@control.io)
        end
      end

      def obey(message)
        case message[:do]
        when "fork" then fork_worker(message[:id], message[:number], message[:descriptors], message[:links])
        when "quit" then leave
        end
      end

      def fork_worker(id, number, count, links)
        descriptors = @control.take(count)
        raise Error, NO_DESCRIPTORS if descriptors.size < count # recvmsg(2): those there is no room for are left out

        @settings[:before_fork]&.each(&:call)
        ForkSafety.before
        pid = fork { become_worker(number, descriptors, links) }
        @children[pid] = id
        @control.tell({ event: "forked", id: id, pid: pid })
      rescue Exception => e # rubocop:disable Lint/RescueException -- a hook may also call exit, or miss a file
        @control.tell({ event: "not_forked", id: id, message: e.is_a?(Error) ? e.message : LastWords.raised(e) })
      ensure
        descriptors.each(&:close)
      end

      def become_worker(number, descriptors, links)
        [@wake, @waker].each(&:close)
        @control.close
        *channel, control = descriptors
        channel = channel.each_slice(channel.size / (links || 1)).to_a # a front of an older version has none for spares
        exit(Worker.new(number, @settings, @config, Control.new(control)).run(channel, &@load))
      end

      # Only its own: an application may have children in the process that loads it.
      def reap
        @children.keys.each do |pid|
          _, status = ::Process.wait2(pid, ::Process::WNOHANG)
          next unless status

          @control.tell({ event: "ended", id: @children.delete(pid), pid: pid, code: status.exitstatus, signal: status.termsig })
        rescue Errno::ECHILD # the application has waited for any child
          @control.tell({ event: "ended", id: @children.delete(pid), pid: pid })
        end
      end

      def fail_with(message, error)
        @control.tell({ event: "failed", message: message })
        warn((error.cause || error).full_message(highlight: false)) if ENV.fetch("NB_DEBUG", "0") != "0"
        ::Process.exit!(FAILED)
      end

      def leave
        ::Process.exit!(0)
      end
    end
  end
end
