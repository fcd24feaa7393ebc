# frozen_string_literal: true

# Fiber.new(blocking: true) makes a fiber whose waits block the thread. Libraries do it so that no
# scheduler of the application meets their fibers (GraphQL::Dataloader does), not so that requests
# wait for each other: on threads only their own thread waits. In a fiber of our scheduler such a
# fiber is made non-blocking. Its waits park it, with all fibers that have resumed it, so that
# `resume` returns when it would on a thread. Every Ruby; cont.c, rb_fiber_initialize.
#
# Compat.blocking and Fiber.blocking (Ruby 3.2 and later) still block. So do fibers that extensions
# make by rb_fiber_new on Ruby 3.1 and 3.2.

module NeverBlock
  module Compat
    module FiberNew
      def initialize(blocking: false, **options, &block)
        super(blocking: blocking && !Compat.scheduler, **options, &block)
      end
    end

    Fiber.prepend(FiberNew)
  end
end
