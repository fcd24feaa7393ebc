# frozen_string_literal: true

# Ruby 3.1 and early 3.2: Thread#join(limit) in a fiber asks the scheduler to block for `limit`
# seconds, and asks again when that returns, forever. Bug #19709.

module NeverBlock
  module Compat
    module ThreadJoin
      # Ends the wait from inside, so that join's own clean-up runs. Nothing in between may rescue
      # it.
      class Expired < Exception # rubocop:disable Lint/InheritException -- see above
      end

      def join(limit = nil)
        scheduler = Numeric === limit && Compat.scheduler
        return super unless scheduler
        return alive? ? nil : super() if limit <= 0

        begin
          scheduler.timeout_after(limit, Expired) { super() }
        rescue Expired
          alive? ? nil : super()
        end
      end
    end

    Thread.prepend(ThreadJoin)
  end
end
