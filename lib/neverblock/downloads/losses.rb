# frozen_string_literal: true

# Counts lost reports and logs them: the first at once, later ones together at most once a minute.
# Thread-safe.

require "neverblock/verbs/deadline"

module NeverBlock
  module Downloads
    class Losses
      # Seconds between two log entries of one reason.
      EVERY_S = 60
      # Most reports that wait in one queue.
      WAITING_MAX = 10_000

      # @param reports [Array<Report>]
      # @param waiting [Integer] length of the queue
      # @return [Array<Report>] the first reports, as many as fit into the queue; the caller adds
      #   the others here
      def self.fitting(reports, waiting)
        reports.first([WAITING_MAX - waiting, 0].max)
      end

      # @param log [Log]
      # @param count [#call] called with :lost and a number
      # @param clock [#call] monotonic seconds
      def initialize(log, count, clock: Deadline.method(:now))
        @log = log
        @count = count
        @clock = clock
        @lock = Mutex.new
        @unlogged = Hash.new(0)
        @logged_at = {}
      end

      # @param number [Integer]
      # @param why [String] the reason, which ends the log line
      # @return [void]
      def add(number, why)
        return if number.zero?

        @count.call(:lost, number)
        note(number, why)
      end

      # Logs losses that another place has counted.
      # @return [void]
      def note(number, why)
        return if number.zero?

        @lock.synchronize do
          @unlogged[why] += number
          say(why) if @logged_at[why].nil? || @clock.call - @logged_at[why] >= EVERY_S
        end
      end

      # Logs what has not been logged yet.
      # @return [void]
      def flush
        @lock.synchronize { @unlogged.keys.each { |why| say(why) } }
      end

      private

      def say(why)
        number = @unlogged.delete(why) or return
        @logged_at[why] = @clock.call
        subject = number == 1 ? "1 download report is" : "#{number} download reports are"
        @log.warn("#{subject} lost: #{why}")
      end
    end
  end
end
