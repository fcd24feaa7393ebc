# frozen_string_literal: true

# Reports that nobody gets: counted, and said in the log at once and then no more than once a minute, with their number. Any thread.

require "neverblock/verbs/deadline"

module NeverBlock
  module Downloads
    class Losses
      # Seconds between two entries.
      EVERY_S = 60
      # Reports that wait in one place for whoever takes them.
      WAITING_MAX = 10_000

      # @param reports [Array<Report>]
      # @param waiting [Integer] how many wait there already
      # @return [Array<Report>] the first of them, as many as may wait there too; the others are to be added here
      def self.fitting(reports, waiting)
        reports.first([WAITING_MAX - waiting, 0].max)
      end

      # @param log [Log]
      # @param count [#call] takes :lost and a number, for the figures
      # @param clock [#call] monotonic seconds
      def initialize(log, count, clock: Deadline.method(:now))
        @log = log
        @count = count
        @clock = clock
        @lock = Mutex.new
        @unsaid = Hash.new(0)
        @said = {}
      end

      # @param number [Integer]
      # @param why [String] the rest of the entry's sentence
      # @return [void]
      def add(number, why)
        return if number.zero?

        @count.call(:lost, number)
        note(number, why)
      end

      # The same of what was counted elsewhere.
      # @return [void]
      def note(number, why)
        return if number.zero?

        @lock.synchronize do
          @unsaid[why] += number
          say(why) if @said[why].nil? || @clock.call - @said[why] >= EVERY_S
        end
      end

      # What was not said yet.
      # @return [void]
      def flush
        @lock.synchronize { @unsaid.keys.each { |why| say(why) } }
      end

      private

      def say(why)
        number = @unsaid.delete(why) or return
        @said[why] = @clock.call
        @log.warn("#{number} report#{"s" unless number == 1} of downloads #{number == 1 ? "is" : "are"} lost: #{why}")
      end
    end
  end
end
