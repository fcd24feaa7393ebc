# frozen_string_literal: true

# The rows of a streamed result. A thread fetches them, a bounded number ahead, and the calling
# fiber takes them. After leaving early, a further call goes on with the next row, as with the gem
# alone.

module NeverBlock
  module DB
    module Mysql2
      class Rows
        # Most rows that are fetched ahead. With that many, the thread and the loop need not wait
        # for each other at each row, and rows of 1 MB still fit in memory.
        AHEAD = 16
        private_constant :AHEAD

        # @return [Integer] rows yielded so far
        attr_reader :count

        def initialize(wire)
          @wire = wire
          @count = 0
          @fetched = []
        end

        # Yields each row. Parks the fiber while there is none.
        # @param fetch [Proc] the gem's own `each`, which takes a block
        # @return what that returns
        def each(fetch, &block)
          stop
          give(@fetched.shift, &block) until @fetched.empty?
          run(fetch, &block) unless @outcome
          conclude
        ensure
          cease
        end

        # Waits until the thread fetches no more rows. Rows that it has fetched stay for the next
        # #each.
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

        # Makes the thread end with its next row.
        def cease
          @rows&.close
        end

        private

        def run(fetch, &block)
          Compat.shielded { begin_job(fetch) }
          while (row = take)
            give(row, &block)
          end
          stop
        end

        # The thread leaves the wire. Where there is none, it is left here.
        def begin_job(fetch)
          @wire.enter(self)
          begin
            @rows = Thread::SizedQueue.new(AHEAD)
            @job = Workers.begin { fetch_ahead(fetch) }
          ensure
            @wire.leave unless @job
          end
        end

        # Runs on the thread.
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

        # @return [Object, nil] nil: there is no more row
        def take
          row = @rows.pop
          taken = true
          row
        ensure
          unless taken # cancelled within an answer
            @discarded = true
            @wire.shut
          end
        end

        def give(row)
          @count += 1
          yield row
        end

        # Ends as the gem's own `each` has ended. A further #each leaves the error to the gem.
        def conclude
          outcome = @outcome
          @outcome = nil
          outcome.get(breaks: false)
        end
      end
    end
  end
end
