# frozen_string_literal: true

# The errors NeverBlock raises. A message says what was seen, what was expected, and the mend, in one line: the command prints it as it is.

module NeverBlock
  # Root of everything NeverBlock raises itself.
  class Error < StandardError; end

  # An option, an address or a variable of the environment that does not make sense.
  class ConfigError < Error; end

  # Something this version recognises and does not do yet.
  class NotYetError < ConfigError; end

  # The application cannot be loaded.
  class ApplicationError < Error; end

  # The server cannot start here: a busy port, a missing permission, a limit of the system.
  class StartError < Error; end

  # A request body that comes while its request runs (a route with `input: :stream`) cannot be read to its end: it grew past the limit, came too slowly, or broke
  # the rules of HTTP. The server has answered its client already (413, 408, 400), or cut an answer that had begun.
  class InputError < Error; end

  # What ends a fiber's work from outside, and in the middle of whatever that is: each of the exceptions below, and some of the gem's own. A connection that the fiber
  # waits for then is cut (Sockets).
  module FromOutside; end

  # The client of a request has left, or its response was cut. Raised where the application writes; with cancel_on_disconnect also where it waits.
  class ClientGone < Error
    include FromOutside
  end

  # The time of an NB.deadline block, or of a request (timeouts request), is over. Raised once, in the wait the fiber is in, or at its next. It is no
  # Timeout::Error: Net::HTTP and other clients rescue that and try again.
  class DeadlineExceeded < Error
    include FromOutside

    # @return [Deadline, nil] whose time is over
    attr_reader :deadline

    # @param message [String, nil] nil: says how long the time was
    # @param deadline [Deadline, nil]
    def initialize(message = nil, deadline: nil)
      @deadline = deadline
      super(message || (deadline ? "the #{deadline.seconds} s of NB.deadline are over" : "the deadline is over"))
    end
  end

  # Raised in the waits of fibers whose result nobody wants any more: another branch of their NB.all has failed, or what encloses it was left. It is no
  # StandardError, so that `rescue => e` in an application does not take the end of its own work for a failure of it and go on; `ensure` runs as ever.
  class Cancelled < Exception # rubocop:disable Lint/InheritException -- see above
    include FromOutside

    # @return [Exception, nil] what has ended the whole
    attr_reader :reason

    def initialize(message = nil, reason: nil)
      @reason = reason
      super(message || "cancelled#{": #{reason.message} (#{reason.class})" if reason}")
    end
  end
end
