# frozen_string_literal: true

# Owns everything there is to know of molds and workers, on one thread: starts them, listens to them, replaces what is lost, and carries a reload through. Other
# threads hand it work (post); nothing else touches its state, so there are no locks. Decisions without processes are in Roster and BackOff; what it looks at once
# a second in Rounds; a reload in Reload.

require "neverblock/boot/cgroup"
require "neverblock/cluster/back_off"
require "neverblock/cluster/last_words"
require "neverblock/cluster/mold_handle"
require "neverblock/cluster/processes"
require "neverblock/cluster/reload"
require "neverblock/cluster/roster"
require "neverblock/cluster/rounds"
require "neverblock/cluster/settings"
require "neverblock/cluster/supervisor/endings"
require "neverblock/cluster/supervisor/hearing"
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
      include Reporting

      TICK_S = 1.0
      # Between looks for a process whose socket has closed: its end is a matter of moments.
      REAP_S = 0.01
      # A mold has so long to tell how a worker has ended.
      HEARSAY_S = 0.1
      # After its socket has closed a worker's process that goes on is none that can be supervised; as long after it began to leave, one that hangs in at_exit.
      SILENT_S = 2.0
      ENDING_S = Worker::EXIT_S + 2.0
      # A worker that ended so soon after it was ready, and had answered nothing, has lived a short life.
      SHORT_S = 1.0
      # A SIGTERM that a worker tells of may be one for all processes of the server (systemd's KillMode, kill -- -PGID), which the front has soon, too.
      TERM_S = 0.5
      # For a fork and the hooks before it; a mold that takes longer stands still.
      FORK_S = 60.0
      # Seconds for a mold that was told to quit.
      QUIT_S = 2.0
      # In which the same trouble is said once.
      AGAIN_S = 60

      # @return [Roster]
      attr_reader :roster
      # @return [Error, nil] why the server could not start
      attr_reader :failure
      # @return [Log]
      attr_reader :log
      # @return [Array<Integer>] processes there are now; any thread
      attr_reader :pids
      # @return [Array<Hash>] number, pid and state of each worker there is now; any thread
      attr_reader :workers
      # @return [Integer] how many versions have served, this one counted; any thread
      attr_reader :generation

      # @param engine [Engine]
      # @param settings [Config::Settings] the front's own
      # @param log [Log]
      # @param molds [#call] starts a mold: takes the time, gives a MoldHandle
      # @param again [String, nil] why no second mold can be made; nil: it can
      # @param processes [Processes]
      # @param killed [#oom_kills] counts what was killed for want of memory
      # @param clock [#call] monotonic seconds
      # @param spares [Integer] of each worker's executor
      # @param lanes [#call] takes what the application says of the lanes of its requests (Array<LaneRules::Rule>)
      def initialize(engine:, settings:, log:, molds:, again: nil, workers: settings[:workers], processes: Processes.new, killed: Boot::Cgroup.new,
                     clock: Deadline.method(:now), spares: 0, lanes: ->(_rules) {})
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
        @roster = Roster.new(workers)
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
          step(0) # nothing comes before something was done
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

      # Any thread.
      # @param verb [Symbol] :drain, :cut, :add_worker, :remove_worker or :reload
      # @return [void]
      def post(verb, *arguments)
        @inbox << [verb, arguments]
        @waker.write_nonblock(".", exception: false)
      rescue IOError # it has ended
        nil
      end

      # One turn: what has come, what is due, what is to be done.
      # @param seconds [Numeric] to wait for something to come
      # @return [void]
      def step(seconds)
        readable, = IO.select([@wake, *listened.keys], nil, nil, seconds)
        readable&.each { |io| io.equal?(@wake) ? take_posts : listened[io]&.then { |process| hear(process) } }
        tick if now >= @next_tick
        reap if silent_children?
        settle
        note_processes
      rescue StandardError => e # a fault here must not take what serves with it
        trouble("the supervisor of the workers", e)
        IO.select([@wake], nil, nil, TICK_S)
      end

      # @return [Float]
      def now
        @clock.call
      end

      # --- for Rounds and Reload, on its thread ---

      # Forks a worker.
      # @param number [Integer]
      # @param mold [MoldHandle]
      # @return [WorkerHandle, nil] nil: the system refuses
      def start_worker(number, mold = @mold)
        channel = @engine.channel(number, @spares)
        ours, theirs = Control.pair
        worker = WorkerHandle.new(@next_id += 1, number, mold, channel, Control.new(ours), now)
        roster.all << worker
        descriptors = [*channel.descriptors, theirs]
        mold.control.tell({ do: "fork", id: worker.id, number: number, descriptors: descriptors.size, links: channel.links }, descriptors)
        channel.handed_over
        worker
      rescue SystemCallError, Error => e
        channel&.end unless worker
        trouble("worker #{number} cannot be started: #{e.message}")
        nil
      ensure
        theirs&.close
      end

      # It is given requests from now on, and whom it succeeds is given none.
      def serve(worker)
        worker.enter(:serving, now)
        worker.channel.serve
        log.info("#{worker} serves") if @served && !@switching
        roster.succeeded_by(worker).each { |other| retire(other) }
      end

      # No further request.
      def retire(worker)
        worker.enter(:retiring, now)
        worker.channel.retire
      end

      # @param why [String] for the log, when it has ended
      def kill(worker, why)
        worker.doom ||= why
        @processes.kill(worker.pid)
      end

      # A mold that nobody needs, and its workers with it.
      def discard(mold)
        return if mold.nil? || mold.ended?

        mold.quits = now
        @processes.kill(mold.pid)
        roster.of(mold).each { |worker| discard_worker(worker) }
      end

      # @return [MoldHandle, nil] nil: the system refuses
      def make_mold
        mold = @molds_factory.call(now)
        @molds << mold
        mold
      rescue SystemCallError => e
        @mold_problem = "a process that loads the application cannot be started: #{e.message}"
        nil
      end

      # @return [String, nil] why make_mold gave none
      attr_reader :mold_problem

      # New workers, all ready, in the place of the old ones.
      # @param mold [MoldHandle]
      def switch_to(mold)
        fresh, old = roster.all.partition { |worker| worker.mold.equal?(mold) }
        @molds.each { |other| discard(other) if other.state == :loading }
        @mold = mold
        @generation += 1
        @back_off.lasted
        @switching = true
        fresh.each { |worker| serve(worker) }
        old.each { |worker| worker.state == :serving ? retire(worker) : discard_worker(worker) unless worker.state == :retiring }
        [fresh.size, old.size]
      ensure
        @switching = false
      end

      private

      def listened
        (@molds + roster.all).reject(&:silent).to_h { |process| [process.control.io, process] }
      end

      def patience
        return REAP_S if silent_children? || (@draining && roster.all.empty?)

        [@next_tick - now, @back_off.failing? ? @back_off.left : TICK_S].min.clamp(0.0, TICK_S)
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
        roster.all.each { |worker| let_leave(worker) if worker.terminated && now - worker.terminated > TERM_S }
        roster.all.each { |worker| kill(worker, "did not come to an end after its last request") if worker.ending && now - worker.ending > ENDING_S }
        @molds.each { |mold| end_stalled(mold) }
        @back_off.lasted if @back_off.failing? && roster.serving.any? { |worker| now - worker.since > BackOff::STEPS_S.last }
      end

      def end_stalled(mold)
        return unless mold.loaded? && !mold.quits && roster.of(mold).any? { |worker| worker.pid.nil? && now - worker.since > FORK_S }

        trouble("the process that workers are forked from (#{mold.pid}) has not forked one for #{format("%g", FORK_S)} s and is killed")
        @processes.kill(mold.pid)
      end

      # --- what is posted ---

      def drain
        return if @draining

        @draining = true
        @reload&.give_up("the server is stopping")
        give_up_waiting_reloads("the server is stopping")
        @engine.drain
        roster.all.each { |worker| discard_worker(worker) if %i[starting ready].include?(worker.state) }
        @molds.each { |mold| @processes.kill(mold.pid) if mold.state == :loading }
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
        return log.info("#{words} as before: from #{Roster::RANGE.min} to #{Roster::RANGE.max} are possible") if roster.target == before

        log.info("#{words} from now on")
      end

      # @param reply [#call] is given [ok, message], once
      # @param progress [#call] is given lines
      def reload(reply, progress)
        refusal = @again || (@draining && "the server is stopping")
        if refusal
          log.warn("no reload: #{refusal}")
          return reply.call([false, refusal])
        end

        @reloads << [reply, progress]
      end

      # --- what is to be done ---

      def settle
        give_reports
        return wind_up if @draining

        begin_reload if @reload.nil? && @reloads.any?
        @reload = nil if @reload&.advance
        ensure_mold
        end_without_workers
        start_missing if @mold&.loaded? && @back_off.left.zero?
        roster.surplus.each { |worker| retire(worker) }
        quit_molds
        announce
        tell_availability
      end

      def ensure_mold
        return if @mold || @molds.any? { |mold| mold.state == :loading && !@reload&.mold.equal?(mold) } || @back_off.left.positive? || (@again && @started)

        @started = true
        return if make_mold

        return fail_with(mold_problem) if first_start?

        @back_off.failed
        say_attempt(mold_problem)
      end

      # What the system refuses to one it refuses to the next.
      def start_missing
        @refused = !roster.missing(@reload&.mold).all? { |number| start_worker(number) }
      end

      # Nobody is left who could run a request or fork another who could.
      def end_without_workers
        return unless @again && @started && @molds.empty? && roster.all.empty?

        problem = "no worker is left, and none can be forked any more: #{@again}"
        log.error("#{problem}; the server ends")
        fail_with(problem)
      end

      def begin_reload
        waiting, @reloads = @reloads, []
        @reload = Reload.new(self, waiting)
        @reload.begin
      end

      # Molds whose workers have all gone.
      def quit_molds
        @molds.each do |mold|
          next if mold.equal?(@mold) || mold.equal?(@reload&.mold) || mold.state == :loading || mold.quits || roster.of(mold).any?

          mold.quits = now
          mold.control.tell({ do: "quit" })
        end
        @molds.each { |mold| @processes.kill(mold.pid) if mold.quits && now - mold.quits > QUIT_S }
      end

      # Once everything that was begun has come to its end, well or not, and somebody serves.
      def announce
        return if @served || roster.serving.empty?
        return if roster.all.any? { |worker| worker.state == :starting } && !@back_off.failing?

        @served = true
        @on_serving&.call
        @notices.each { |line| log.info(line) }
      end

      # While nobody serves, nor will at once, who waits is told so; what he took of the system may be what a worker is refused.
      def tell_availability
        seconds = [@back_off.left.ceil, 1].max if roster.serving.empty? && (@refused || @back_off.failing? || (@again && @molds.empty?))
        return if seconds == @unavailable

        @engine.unavailable = @unavailable = seconds
      end

      def discard_worker(worker)
        worker.doom = :discarded
        @processes.kill(worker.pid)
        worker.control.io.shutdown rescue nil # rubocop:disable Style/RescueModifier -- it may have gone
      end

      # Without workers nobody runs what still waits.
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

      # For other threads.
      def note_processes
        @pids = pids_now.freeze
        @workers = roster.all.map { |worker| { number: worker.number, pid: worker.pid, state: worker.state }.freeze }.freeze
      end

      def pids_now
        (@molds + roster.all).filter_map(&:pid)
      end

      # The same words once a minute.
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
