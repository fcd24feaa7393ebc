# frozen_string_literal: true

# A reload on its way: a new mold loads, forks as many workers as there are to be, and when all are ready they take the place of the old ones in one step. Whatever
# goes wrong before that step ends the new processes and nothing else.

module NeverBlock
  module Cluster
    class Reload
      OLD_GOES_ON = "nothing has changed, the old version serves on"

      # @return [MoldHandle, nil]
      attr_reader :mold

      # @param supervisor [Supervisor]
      # @param waiting [Array<Array(#call, #call)>] who is told how it ends, and on the way
      def initialize(supervisor, waiting)
        @supervisor = supervisor
        @waiting = waiting
      end

      # @return [void]
      def begin
        @began = @supervisor.now
        @mold = @supervisor.make_mold or return give_up(@supervisor.mold_problem)

        tell("a new version is being loaded (process #{@mold.pid})")
      end

      # Does what can be done now.
      # @return [Boolean] whether it is over
      def advance
        return true if @over

        start_workers if @count.nil? && @mold.loaded?
        finish if @count && !@over && workers.size == @count && workers.all? { |worker| worker.state == :ready }
        @over ? true : false
      end

      # @param mold [MoldHandle]
      # @param problem [String]
      # @param worker [WorkerHandle, nil] nil: the mold itself has ended
      # @return [Boolean] whether the reload was theirs
      def lost?(mold, problem, worker = nil)
        return false unless mold.equal?(@mold)

        give_up(problem) unless @over
        worker.nil? || worker.state != :serving
      end

      # @param why [String]
      # @return [void]
      def give_up(why)
        return if @over

        @over = true
        @supervisor.discard(@mold)
        message = "the reload has failed: #{why}; #{OLD_GOES_ON}"
        @supervisor.log.error(message)
        reply(false, message)
      end

      private

      def start_workers
        @count = @supervisor.roster.target
        tell("loaded; #{@count} new workers are being started")
        @count.times { |number| @supervisor.start_worker(number, @mold) or return give_up("worker #{number} cannot be started") }
      end

      def workers
        @supervisor.roster.of(@mold)
      end

      def finish
        @over = true
        fresh, old = @supervisor.switch_to(@mold)
        message = "#{fresh} new worker#{"s serve" unless fresh == 1}#{" serves" if fresh == 1} since now, after #{format("%.1f", @supervisor.now - @began)} s; " \
                  "#{old} old one#{"s" unless old == 1} #{old == 1 ? "ends" : "end"} what they run"
        @supervisor.log.info("reloaded: #{message}")
        reply(true, message)
      end

      def tell(line)
        @supervisor.log.info("reload: #{line}")
        @waiting.each { |_, progress| progress&.call(line) }
      end

      def reply(done, message)
        @waiting.each { |reply, _| reply&.call([done, message]) }
      end
    end
  end
end
