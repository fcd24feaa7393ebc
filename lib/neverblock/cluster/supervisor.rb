# frozen_string_literal: true

# Manages molds and workers on one thread: starts them, reads their messages, replaces those that
# ended, and runs reloads. Other threads hand it work by #post. Nothing else touches its state, so
# there are no locks. Roster and BackOff decide without touching processes, Rounds has the checks of
# every second, and Reload one reload.

require "neverblock/boot/cgroup"
require "neverblock/cluster/back_off"
require "neverblock/cluster/exit_time"
require "neverblock/cluster/last_words"
require "neverblock/cluster/mold_handle"
require "neverblock/cluster/processes"
require "neverblock/cluster/reload"
require "neverblock/cluster/roster"
require "neverblock/cluster/rounds"
require "neverblock/cluster/settings"
require "neverblock/cluster/supervisor/endings"
require "neverblock/cluster/supervisor/hearing"
require "neverblock/cluster/supervisor/leaving"
require "neverblock/cluster/supervisor/reporting"
require "neverblock/cluster/worker"
require "neverblock/cluster/worker_handle"
require "neverblock/verbs/deadline"
require "neverblock/errors"

module NeverBlock
  module Cluster
    class Supervisor
      include Endings
      include Hearing
      include Leaving
      include Reporting

      TICK_S = 1.0
      # Between checks for a process whose socket has closed; it ends within moments.
      REAP_S = 0.01
      # Time a mold has to report how a worker has ended.
      HEARSAY_S = 0.1
      # After its socket has closed, a worker that still runs cannot be supervised and is killed.
      SILENT_S = 2.0
      # A worker that ends within this time after it was ready, without an answer, is short-lived.
      SHORT_S = 1.0
      # Wait after a worker's SIGTERM: it may have been sent to all processes of the server
      # (systemd's KillMode, kill -- -PGID), and then the front gets one too.
      TERM_S = 0.5
      # For a fork and its hooks; a mold that takes longer is stuck.
      FORK_S = 60.0
      # Time a mold has to quit.
      QUIT_S = 2.0
      # Shortest time between two identical log entries.
      AGAIN_S = 60

      # @return [Roster]
      attr_reader :roster
      # @return [Error, nil] the reason why the server could not start
      attr_reader :failure
      # @return [Log]
      attr_reader :log
      # @return [Array<Integer>] ids of the current processes; thread-safe
      attr_reader :pids
      # @return [Array<Hash>] number, pid and state of each current worker; thread-safe
      attr_reader :workers
      # @return [Integer] number of versions that have served, with this one; thread-safe
      attr_reader :generation

      # @param engine [Engine]
      # @param settings [Config::Settings] the front's
      # @param log [Log]
      # @param molds [#call] starts a mold: called with the time, returns a MoldHandle
      # @param again [String, nil] why no second mold can be started; nil: it can
      # @param processes [Processes]
      # @param killed [#oom_kills] counts processes killed because memory was exhausted
      # @param clock [#call] monotonic seconds
      # @param most [Integer] how many workers there are places for
      # @param spares [Integer] standby executors of each worker
      # @param lanes [#call] called with the application's lane rules (Array<LaneRules::Rule>)
      def initialize(engine:, settings:, log:, molds:, again: nil, workers: settings[:workers],
                     processes: Processes.new, killed: Boot::Cgroup.new,
                     clock: Deadline.method(:now), most: Roster::RANGE.max, spares: 0,
                     lanes: ->(_rules) {})
        @engine = engine
        @settings = settings
        @log = log
        @molds_factory = molds
        @again = again
        @processes = processes
        @killed = killed
        @clock = clock
        @spares = spares
        @lanes = lanes
        @roster = Roster.new(workers, most: most)
        @back_off = BackOff.new(clock)
        @rounds = Rounds.new(self, settings, processes)
        @molds = []
        @reloads = []
        @inbox = Thread::Queue.new
        @wake, @waker = IO.pipe
        @next_tick = now + TICK_S
        @next_id = 0
        @generation = 1
        note_processes
        @oom_kills = killed.oom_kills
      end

      # @return [#call, nil] called once, when workers serve for the first time
      attr_writer :on_serving

      # @yield when everything has ended
      # @return [Thread]
      def start(&on_end)
        thread = Thread.new do
          step(0) # without waiting: the first mold is not started yet
          step(patience) until @over
        ensure
          close
          on_end&.call
        end
        thread.tap { thread.name = "nb-cluster" }
      end

      # @return [Boolean] whether everything has ended
      def over?
        @over || false
      end

      # Hands work to this object's thread. Thread-safe.
      # @param verb [Symbol] :drain, :cut, :add_worker, :remove_worker or :reload
      # @return [void]
      def post(verb, *arguments)
        @inbox << [verb, arguments]
        @waker.write_nonblock(".", exception: false)
      rescue IOError # it has ended
        nil
      end

      # One turn: reads messages, runs what is due, and acts on both.
      # @param seconds [Numeric] longest wait for a message
      # @return [void]
      def step(seconds)
        readable, = IO.select([@wake, *listened.keys], nil, nil, seconds)
        readable&.each { |io| receive(io) }
        tick if now >= @next_tick
        reap if silent_children?
        settle
        note_processes
      rescue StandardError => e # a fault here must not end the server
        trouble("a fault in the supervisor of the workers", e)
        IO.select([@wake], nil, nil, TICK_S)
      end

      # @return [Float]
      def now
        @clock.call
      end

      # --- for Rounds and Reload, on this object's thread ---

      # Forks a worker.
      # @param number [Integer]
      # @param mold [MoldHandle]
      # @return [WorkerHandle, nil] nil: the system refused
      def start_worker(number, mold = @mold)
        channel = @engine.channel(number, @spares)
        ours, theirs = Control.pair
        worker = WorkerHandle.new(@next_id += 1, number, mold, channel, Control.new(ours), now)
        roster.all << worker
        ask_for_fork(worker, [*channel.descriptors, theirs])
        channel.handed_over
        worker
      rescue SystemCallError, Error => e
        channel&.end unless worker
        trouble("worker #{number} cannot be started: #{e.message}")
        nil
      ensure
        theirs&.close
      end

      # Gives the worker requests from now on, and drains the workers it replaces. A worker for
      # which there is no place, as too many still end, stays ready until there is one.
      # @return [Boolean] whether it serves
      def serve(worker)
        return await_place(worker) unless worker.channel.place?

        @lanes.call(worker.lane_rules) if worker.lane_rules
        worker.channel.serve
        worker.enter(:serving, now)
        log.info("#{worker} serves") if @served && !@switching
        drain_succeeded(worker)
        true
      rescue Error => e
        @back_off.failed
        trouble("#{worker} cannot serve: #{e.message}")
        discard_worker(worker)
        false
      end

      # Gives the worker no further requests.
      def drain_worker(worker)
        worker.enter(:retiring, now)
        tell_exit_time(worker, ExitTime.retire(@settings, now)) unless worker.ending
        worker.channel.retire
      end

      # @param why [String] reason for the log entry of its end
      def kill(worker, why)
        worker.doom ||= why
        @processes.kill(worker.pid)
      end

      # Ends a mold that is no longer needed, and its workers, which may outlive it.
      def discard(mold)
        return if mold.nil?

        unless mold.ended?
          mold.quits = now
          @processes.kill(mold.pid)
        end
        roster.of(mold).each { |worker| discard_worker(worker) }
      end

      # @return [MoldHandle, nil] nil: the system refused
      def make_mold
        mold = @molds_factory.call(now)
        @molds << mold
        mold
      rescue SystemCallError => e
        @mold_problem = "a process that loads the application cannot be started: #{e.message}"
        nil
      end

      # @return [String, nil] why make_mold returned nil
      attr_reader :mold_problem

      # Replaces old workers by new ones, which are all ready. An old one for whose successor there
      # is no place yet serves until there is.
      # @param mold [MoldHandle]
      # @return [Array(Integer, Integer, Integer), nil] number of new workers that serve, of old
      #   ones that finish, and of new ones that wait for a place; nil: no new one serves, and old
      #   ones go on
      def switch_to(mold)
        fresh, old = roster.all.partition { |worker| worker.mold.equal?(mold) }
        @switching = true
        serving, rest = fresh.partition { |worker| serve(worker) }
        return if serving.empty? && old.any? { |worker| worker.state == :serving }

        take_over(mold)
        old.each { |worker| leave_or_discard(worker) unless worker.state == :retiring }
        serving.each { |worker| drain_succeeded(worker) }
        [serving.size, old.count { |worker| worker.state == :retiring }, rest.count(&:waiting?)]
      ensure
        @switching = false
      end

      private

      def receive(io)
        return take_posts if io.equal?(@wake)

        process = listened[io]
        hear(process) if process
      end

      def ask_for_fork(worker, descriptors)
        message = { do: "fork", id: worker.id, number: worker.number,
                    descriptors: descriptors.size, links: worker.channel.links }
        worker.mold.control.tell(message, descriptors)
      end

      def take_over(mold)
        @molds.each { |other| discard(other) if other.state == :loading }
        @mold = mold
        @generation += 1
        @back_off.lasted
      end

      def leave_or_discard(worker)
        return discard_worker(worker) unless worker.state == :serving

        worker.leaving ||= "is replaced by a new version"
      end

      def drain_succeeded(worker)
        roster.succeeded_by(worker).each { |other| drain_worker(other) }
      end

      def await_place(worker)
        unless @switching || worker.lingering
          worker.lingering = true
          log.warn("#{worker} is ready and waits until a worker that finishes its requests has " \
                   "ended: there is no place beside them")
        end
        false
      end

      def listened
        (@molds + roster.all).reject(&:silent).to_h { |process| [process.control.io, process] }
      end

      def patience
        return REAP_S if silent_children? || (@draining && roster.all.empty?)

        wait = @back_off.failing? ? @back_off.left : TICK_S
        [@next_tick - now, wait].min.clamp(0.0, TICK_S)
      end

      def take_posts
        @wake.read_nonblock(1_024, exception: false)
        until @inbox.empty?
          verb, arguments = @inbox.pop
          send(verb, *arguments)
        end
      end

      def tick
        @next_tick = now + TICK_S
        reap
        @rounds.walk unless @draining
        roster.all.dup.each { |worker| bury_if_lost(worker) }
        roster.all.each { |worker| check_ending(worker) }
        @molds.each { |mold| end_stalled(mold) }
        @back_off.lasted if @back_off.failing? && long_serving?
      end

      def long_serving?
        roster.serving.any? { |worker| now - worker.since > BackOff::STEPS_S.last }
      end

      def end_stalled(mold)
        return unless mold.loaded? && !mold.quits
        return if roster.of(mold).none? { |worker| worker.pid.nil? && now - worker.since > FORK_S }

        trouble("the process that workers are forked from (#{mold.pid}) has not forked one for " \
                "#{format("%g", FORK_S)} s and is killed")
        @processes.kill(mold.pid)
      end

      # --- verbs of #post ---

      STOPPING = "the server is stopping"
      private_constant :STOPPING

      def drain
        return if @draining

        @draining = true
        @reload&.give_up(STOPPING)
        give_up_waiting_reloads(STOPPING)
        bound_exits
        @engine.drain
        roster.all.each { |worker| discard_worker(worker) if unused?(worker) }
        @molds.each { |mold| @processes.kill(mold.pid) if mold.state == :loading }
      end

      def surplus?(worker)
        worker.number >= roster.target
      end

      def unused?(worker)
        %i[starting ready].include?(worker.state)
      end

      def cut
        drain
        @engine.stop_now
      end

      def add_worker
        resize(roster.target + 1)
      end

      def remove_worker
        resize(roster.target - 1)
      end

      def resize(count)
        before = roster.target
        roster.target = count
        words = "#{roster.target} worker#{"s" unless roster.target == 1}"
        return log.info("#{words} from now on") unless roster.target == before

        range = roster.range
        log.info("#{words} as before: from #{range.min} to #{range.max} are possible")
      end

      # @param reply [#call] called once with [ok, message]
      # @param progress [#call] called with lines
      def reload(reply, progress)
        refusal = @again || (@draining && STOPPING)
        if refusal
          log.warn("no reload: #{refusal}")
          return reply.call([false, refusal])
        end

        @reloads << [reply, progress]
      end

      # --- actions of a turn ---

      def settle
        give_reports
        return wind_up if @draining

        begin_reload if @reload.nil? && @reloads.any?
        @reload = nil if @reload&.advance
        ensure_mold
        end_without_workers
        start_missing if @mold&.loaded? && @back_off.left.zero?
        roster.surplus.each { |worker| drain_worker(worker) }
        serve_waiting
        quit_molds
        announce
        tell_availability
      end

      def ensure_mold
        return if @mold || another_loading? || @back_off.left.positive? || (@again && @started)

        @started = true
        return if make_mold
        return fail_with(mold_problem) if first_start?

        @back_off.failed
        say_attempt(mold_problem)
      end

      def another_loading?
        @molds.any? { |mold| mold.state == :loading && !@reload&.mold.equal?(mold) }
      end

      # Stops at the first worker that the system refuses: it would refuse the next one too.
      def start_missing
        @refused = !roster.missing(@reload&.mold).all? { |number| start_worker(number) }
      end

      # Stops at the first worker without a place: there is none for the next one either.
      def serve_waiting
        beyond, waiting = roster.waiting(@reload&.mold).partition { |worker| surplus?(worker) }
        beyond.each { |worker| discard_worker(worker) }
        waiting.all? { |worker| serve(worker) }
      end

      # Ends the server when no worker is left and none can be forked.
      def end_without_workers
        return unless @again && @started && @molds.empty? && roster.all.empty?

        problem = "no worker is left, and none can be forked: #{@again}"
        log.error("#{problem}; the server ends")
        fail_with(problem)
      end

      def begin_reload
        waiting, @reloads = @reloads, []
        @reload = Reload.new(self, waiting)
        @reload.begin
      end

      # Ends molds whose workers have all ended.
      def quit_molds
        @molds.each do |mold|
          next if mold.state == :loading || mold.quits || needed?(mold)

          mold.quits = now
          mold.control.tell({ do: "quit" })
        end
        @molds.each { |mold| @processes.kill(mold.pid) if mold.quits && now - mold.quits > QUIT_S }
      end

      def needed?(mold)
        mold.equal?(@mold) || mold.equal?(@reload&.mold) || roster.of(mold).any?
      end

      # Reports the start once a worker serves and no other is still starting.
      def announce
        return if @served || roster.serving.empty?
        return if roster.all.any? { |worker| worker.state == :starting } && !@back_off.failing?

        @served = true
        @on_serving&.call
        @notices.each { |line| log.info(line) }
      end

      # While no worker serves or will soon serve, waiting clients get 503. The resources they hold
      # may be what the system lacks for a worker.
      def tell_availability
        seconds = [@back_off.left.ceil, 1].max if roster.serving.empty? && hopeless?
        return if seconds == @unavailable

        @engine.unavailable = @unavailable = seconds
      end

      def hopeless?
        @refused || @back_off.failing? || (@again && @molds.empty?)
      end

      def discard_worker(worker)
        worker.doom = :discarded
        @processes.kill(worker.pid)
        shut(worker.control.io)
      end

      def shut(socket)
        socket.shutdown
      rescue StandardError
        nil # it is closed already
      end

      # Without workers, requests that still wait get 503.
      def wind_up
        return unless roster.all.empty?
        return @engine.unavailable = 1 if @engine.running?

        @mold = nil
        quit_molds
        @over = @molds.empty?
      end

      def give_up_waiting_reloads(why)
        @reloads.each { |reply, _| reply.call([false, why]) }
        @reloads.clear
      end

      # Publishes the state for other threads.
      def note_processes
        @pids = pids_now.freeze
        @workers = roster.all.map { |worker| published(worker) }.freeze
        note_exits
      end

      def published(worker)
        { number: worker.number, pid: worker.pid, state: worker.state }.freeze
      end

      def pids_now
        (@molds + roster.all).filter_map(&:pid)
      end

      # Logs an error; the same one at most once a minute.
      def trouble(text, error = nil)
        return if @trouble == [text, error&.message] && now - @trouble_at < AGAIN_S

        @trouble = [text, error&.message]
        @trouble_at = now
        log.error(text, error)
      end

      def close
        lose_reports
        (@molds + roster.all).each { |process| process.control.close }
        @wake.close
        @waker.close
      end
    end
  end
end
