# frozen_string_literal: true

# Thread.pass lets other threads run, but no other fiber (thread.c, thread_s_pass; all Rubies). A
# fiber that passes until another fiber of the thread has done something would pass forever. Here
# every fiber that is ready runs once, too.

module NeverBlock
  module Compat
    module ThreadPass
      def pass
        sleep(0) if Compat.scheduler
        super
      end
    end

    Thread.singleton_class.prepend(ThreadPass)
  end
end
