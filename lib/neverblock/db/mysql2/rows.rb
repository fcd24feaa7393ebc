# frozen_string_literal: true

# The rows of a streamed result: a thread fetches them, a bounded number ahead, and the fiber that asked takes them. Who leaves early may go on later with
# the next row, as with the gem alone.

module NeverBlock
  module DB
    module Mysql2
      class Rows
        # Most rows that are fetched and not asked for yet. Enough that the thread and the loop do not wait for each other at each row, few enough for rows of 1 MB.
        AHEAD = 16
        private_constant :AHEAD

        # @return [Integer] rows given
        attr_reader :count

        def initialize(wire)
          @wire = wire
          @count = 0
          @fetched = []
        end

        # Parks the fiber while there is no row.
        # @param fetch [Proc] the gem's own `each`, for a block
        # @return what that returns
        def each(fetch, &block)
          stop
          give(@fetched.shift, &block) until @fetched.empty?
          run(fetch, &block) unless @outcome
          conclude
        ensure
          cease
        end

        # Waits until no thread fetches rows any more. What it has fetched is kept.
        def stop
          return unless @job

          cease
          outcome = @job.wait
          @job = nil
          while (row = @rows.pop)
            @fetched << row
          end
          @outcome = outcome unless @refused
          @fetched.push(@refused) if @refused
          @refused = nil
        end

        # Has the thread end with its next row.
        def cease
          @rows&.close
        end

        private

        def run(fetch, &block)
          @wire.enter(self)
          @rows = Thread::SizedQueue.new(AHEAD)
          @job = Workers.begin { fetch_ahead(fetch) }
          while (row = take)
            give(row, &block)
          end
          stop
        end

        # On the thread.
        def fetch_ahead(fetch)
          fetch.call { |row| break unless offer(row) }
        ensure
          @wire.discard if @discarded
          @wire.leave
          @rows.close
        end

        def offer(row)
          @rows << row
        rescue ClosedQueueError
          @refused = row
          nil
        end

        # @return [Object, nil] nil: there is no further row
        def take
          @rows.pop
        rescue Exception # rubocop:disable Lint/RescueException -- cancelled, by whatever, in the middle of an answer
          @discarded = true
          @wire.shut
          raise
        end

        def give(row)
          @count += 1
          yield row
        end

        # As the gem's own `each` ended; a further one is told by the gem what it thinks of it.
        def conclude
          outcome = @outcome
          @outcome = nil
          outcome.get(breaks: false)
        end
      end
    end
  end
end
