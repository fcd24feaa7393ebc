# frozen_string_literal: true

# A reload in progress. A new mold loads the application and forks the target number of workers.
# When all are ready, they replace the old ones in one step, as far as there are places for them. A
# failure before that step ends only the new processes.

module NeverBlock
  module Cluster
    class Reload
      OLD_GOES_ON = "nothing has changed, the old version still serves"
      NO_PLACE = "there is no place for a new worker beside those that serve and those that " \
                 "still finish their requests"

      # @return [MoldHandle, nil]
      attr_reader :mold

      # @param supervisor [Supervisor]
      # @param waiting [Array<Array(#call, #call)>] for each request of a reload: receiver of the
      #   result, receiver of progress
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

      # Takes the next steps that are possible now.
      # @return [Boolean] whether the reload is over
      def advance
        return true if @over

        start_workers if @count.nil? && @mold.loaded?
        finish if @count && !@over && all_ready?
        @over ? true : false
      end

      # @param mold [MoldHandle]
      # @param problem [String]
      # @param worker [WorkerHandle, nil] nil: the mold itself has ended
      # @return [Boolean] whether the reload handles this end
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
        @count.times do |number|
          next if @supervisor.start_worker(number, @mold)

          return give_up("worker #{number} cannot be started")
        end
      end

      def all_ready?
        workers.size == @count && workers.all? { |worker| worker.state == :ready }
      end

      def workers
        @supervisor.roster.of(@mold)
      end

      def finish
        counts = @supervisor.switch_to(@mold) or return give_up(NO_PLACE)

        @over = true
        message = message_of(*counts)
        @supervisor.log.info("reloaded: #{message}")
        reply(true, message)
      end

      def message_of(fresh, old, waiting)
        seconds = format("%.1f", @supervisor.now - @began)
        message = "#{counted(fresh, "new worker serves", "new workers serve")} after #{seconds} " \
                  "s; #{counted(old, "old one finishes", "old ones finish")} running requests"
        return message if waiting.zero?

        "#{message}; #{counted(waiting, "new one waits", "new ones wait")} until old ones " \
          "have ended"
      end

      def counted(number, one, many)
        "#{number} #{number == 1 ? one : many}"
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
