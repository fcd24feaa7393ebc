# frozen_string_literal: true

require "socket"

# Calls the fiber's block after a socket was made of a descriptor, before its maker has told it
# anything.
module Between
  module Calls
    def for_fd(*)
      super.tap { Thread.current[:between_test]&.call }
    end
  end
  ::BasicSocket.singleton_class.prepend(Calls)

  def between(called)
    Thread.current[:between_test] = called
    yield
  ensure
    Thread.current[:between_test] = nil
  end
end
