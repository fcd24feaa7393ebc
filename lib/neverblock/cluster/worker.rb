# frozen_string_literal: true

# A forked process that runs requests. Its executor has a thread of its own and is connected to the
# front by a channel, while the main thread reads the front's commands.
#
#   commands   { do: "backtrace" }   { do: "download", report: [id, path, bytes, seconds, result] }
#              { do: "leave", until:, limit: } (ExitTime, before its executors end)
#   events     { event: "started", pid: }   { event: "ready" }   { event: "failed", message: }
#              { event: "retire" } (it got SIGTERM)
#              { event: "lanes", rules: } (LaneRules of the application; before "ready", also [])
#              { event: "backtrace", lines: }   { event: "ending" }
#              { event: "downloads", called:, failed:, lost: } (numbers of reports that are done)
#
# It ends when its executor has ended, which the channel tells to do so after the last request. Then
# the application's at_exit blocks run, for a bounded time (ExitTime). When its control socket is
# closed, the front has ended, and the worker exits at once.

require "neverblock/boot/hooks"
require "neverblock/boot/processors"
require "neverblock/cluster/exit_time"
require "neverblock/cluster/fork_safety"
require "neverblock/cluster/last_words"
require "neverblock/cluster/title"
require "neverblock/downloads/calls"
require "neverblock/downloads/losses"
require "neverblock/downloads/report"
require "neverblock/server/lane_rules"
require "neverblock/rack/layers"
require "neverblock/server/serving"
require "neverblock/server/stalls"
require "neverblock/server/executor_thread"
require "neverblock/server/helpers"
require "neverblock/server/later"
require "neverblock/verbs/deadline"

module NeverBlock
  module Cluster
    class Worker
      IGNORED = %w[INT QUIT HUP USR1 USR2 TTIN TTOU].freeze
      LOG_FLUSH_MS = 1_000
      # Most lines of a backtrace.
      LINES_MAX = 100

      # @param number [Integer]
      # @param settings [Config::Settings]
      # @param config [Config]
      # @param control [Control]
      # @param native [Module] the module of Link, Executor and Log
      def initialize(number, settings, config, control, native: NeverBlock)
        @number = number
        @settings = settings
        @config = config
        @control = control
        @native = native
        @wake, @waker = IO.pipe
        @lock = Mutex.new
        @reported = Thread::Queue.new
        @lanes = Thread::Queue.new
      end

      # Serves until it is told to end.
      # @param channel [Array<Array<IO>>] descriptors of each link: of its executor, of spares, of
      #   lanes
      # @yieldreturn [#call] the application
      # @return [Integer] exit status
      def run(channel, &load)
        settle
        @later = Server::Later.new
        @control.tell({ event: "started", pid: ::Process.pid })
        executor = prepare(channel, &load) or return leave
        heed_term # again, because the application may have trapped it
        # Its mold may end from here on. The front's end is noticed on the control socket.
        NeverBlock.end_with_parent(false)
        start(executor)
        LaneRules.follow(method(:lanes_changed))
        tell_lanes
        @control.tell({ event: "ready" })
        listen until @ended
        leave
      rescue StandardError => e # the application closed our descriptors, or raised in this thread
        @ended = true
        @log.error("the worker ends, because its main thread was interrupted or has lost its " \
                   "descriptors: #{e.message} (#{e.class})")
        @status = 1
        leave
      end

      private

      def settle
        @log = @native::Log.new(@config.log_fd)
        @log.format = @config.log_format
        @log.worker = @number
        NeverBlock.end_with_parent(true) # a hook may never return
        ::Process.exit!(1) if @control.gone?
        IGNORED.each { |name| Signal.trap(name) { nil } }
        heed_term
        Signal.trap("CHLD", "DEFAULT")
        Title.set("worker #{@number}")
        srand
        $stdout.sync = true if $stdout.respond_to?(:sync=) # as Runner does for a single process
        keep_from_children
      end

      def heed_term
        Signal.trap("TERM") { wake }
      end

      # Children of the application must not inherit the socket: the front would not notice the end
      # of this process.
      def keep_from_children
        control = @control
        Compat::Fork.closing << control.io
      end

      def prepare(channel, &load)
        NeverBlock.offload_threads = @settings[:"executor.offload_threads"]
        ForkSafety.after
        Boot::Hooks.call(@settings, :after_fork, @number)
        NeverBlock.serving = serving
        app = Layers.around(load.call, @config, @log)
        NeverBlock::Heap.make_room_beside_application
        lanes, (first, *spares) = links(channel).partition { |link| link.lane.positive? }
        first = last = executor_of(first, app)
        spares = spares.map { |link| last = executor_of(link, app, helps: last) }
        @helpers = Server::Helpers.new(spares, lanes.map { |link| executor_of(link, app) })
        first
      rescue Exception => e # rubocop:disable Lint/RescueException -- the front is told about it
        refuse(e)
      end

      def serving
        workers = Boot::Processors.workers(@settings[:workers])
        Serving.new(fibers: @config.fibers, workers: workers, log: @log, speaks: @number.zero?)
      end

      def links(channel)
        channel.map do |descriptors|
          descriptors.each { |io| io.autoclose = false }
          @native::Link.new(*descriptors.map(&:fileno))
        end
      end

      def executor_of(link, app, **words)
        options = { fibers: @config.fibers, log: @log, **words, **@config.executor_options,
                    **Stalls.options(@config, worker: @number) }
        @native::Executor.new(link, app, **options)
      end

      def start(executor)
        @left = 1 + @helpers.size
        @thread = Server::ExecutorThread.start(executor, "nb-executor-0") do |failure|
          @helpers.finish
          ended(failure)
        end
        @helpers.start { |failure| ended(failure) }
      end

      def refuse(error)
        own = error.is_a?(Error)
        @control.tell({ event: "failed", message: own ? error.message : LastWords.raised(error) })
        @log.error("cannot serve", without_ours(error)) unless own || error.is_a?(SystemExit)
        @status = 1
        nil
      end

      # Without the lines of this file, which called the hook.
      def without_ours(error)
        if error.backtrace && !error.frozen?
          lines = error.backtrace.take_while { |line| !line.start_with?(__FILE__) }
          error.set_backtrace(lines)
        end
        error
      end

      def wake
        @waker.write_nonblock("T", exception: false)
      end

      # Runs on an executor's thread. The worker ends with its last executor, or when one has
      # failed.
      def ended(failure)
        last = @lock.synchronize { (@left -= 1).zero? }
        return if @ended || !(last || failure)

        @log.error("its executor has failed, and the worker ends", failure) if failure
        @status = failure ? 1 : 0
        @ended = true
        @waker.write_nonblock("E", exception: false)
      end

      def listen
        readable, = IO.select([@control.io, @wake])
        words = readable.include?(@wake) ? @wake.read_nonblock(64, exception: false) : ""
        @control.tell({ event: "retire" }) if words.is_a?(String) && words.include?("T")
        tell_reported
        tell_lanes
        return unless readable.include?(@control.io)

        (@control.read || ::Process.exit!(1)).each { |message| obey(message) }
      end

      def obey(message)
        case message[:do]
        when "backtrace" then tell_backtrace
        when "leave" then @exit_time = ExitTime.read(message)
        when "download" then downloads.offer([Downloads::Report.new(*message[:report])])
        end
      end

      # Made at the first report.
      def downloads
        @downloads ||= begin
          losses = Downloads::Losses.new(@log, method(:reported))
          Downloads::Calls.new(@config.on_download, @log, method(:reported), losses).start
        end
      end

      # Thread-safe.
      def reported(fate, number)
        @reported << [fate, number]
        @waker.write_nonblock("R", exception: false)
      end

      def tell_reported
        sums = Hash.new(0)
        until @reported.empty?
          fate, number = @reported.pop
          sums[fate] += number
        end
        @control.tell({ event: "downloads", **sums }) unless sums.empty?
      end

      # Thread-safe.
      def lanes_changed(rules)
        @lanes << rules
        @waker.write_nonblock("L", exception: false)
      end

      def tell_lanes
        rules = @lanes.pop until @lanes.empty?
        @control.tell({ event: "lanes", rules: rules.map(&:to_a) }) if rules
      end

      def tell_backtrace
        @control.tell({ event: "backtrace", lines: @thread.backtrace.to_a.first(LINES_MAX) })
      end

      def leave
        @downloads&.close
        tell_reported
        seconds = exit_seconds
        @control.tell({ event: "ending" })
        @log.flush(LOG_FLUSH_MS)
        @later.call(seconds) do
          limit = format("%.3g s", seconds)
          @log.warn("at_exit blocks of the application took longer than #{limit}: the worker " \
                    "exits without them; #{@exit_time.advice}")
          @log.flush(LOG_FLUSH_MS)
          ::Process.exit!(@status)
        end
        @status
      end

      # The front may have told it just before the last executor ended. One whose executor has
      # failed is told nothing.
      def exit_seconds
        now = Deadline.now
        @control.read&.each { |message| obey(message) if message[:do] == "leave" }
        @exit_time ||= @thread ? ExitTime.retire(@settings, now) : ExitTime.none
        @exit_time.seconds(now)
      end
    end
  end
end
