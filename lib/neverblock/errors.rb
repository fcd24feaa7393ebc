# frozen_string_literal: true

# The errors NeverBlock raises. A message is one line: what was found, what is allowed, how to mend
# it. The command prints it as it is.

module NeverBlock
  # Root of everything NeverBlock raises itself.
  class Error < StandardError; end

  # A wrong option, address or environment variable.
  class ConfigError < Error; end

  # A setting or command that this version knows and does not support yet.
  class NotYetError < ConfigError; end

  # The application cannot be loaded.
  class ApplicationError < Error; end

  # The server cannot start: a port is in use, a permission is missing, a system limit is too low.
  class StartError < Error; end

  # A streamed request body (a route with `input: :stream`) cannot be read to its end: it is larger
  # than the limit, it came too slowly, or it broke the rules of HTTP. The server has answered the
  # client already (413, 408, 400), or has closed the connection in the middle of the response.
  class InputError < Error; end

  # Marks exceptions that end a fiber's work from outside, at any point: those below, and some of
  # the gem's own. A socket the fiber waits for at that moment is closed (Sockets), because its
  # protocol may be in the middle of an answer.
  module FromOutside; end

  # The client of a request has disconnected, or its response was aborted. Raised when the
  # application writes; with cancel_on_disconnect also when it waits. Raised in the waits of what
  # still runs when the server, or a worker that was replaced, ends without waiting for it.
  class ClientGone < Error
    include FromOutside
  end

  # Somebody has cancelled the request at the admin address (docs/guides/watching.md). Raised once,
  # in the fiber's current wait or in its next one. Its client is answered 503.
  class RequestCancelled < Error
    include FromOutside
  end

  # The time of an NB.deadline block, or of a request (timeouts { request }), has passed. Raised
  # once, in the fiber's current wait or in its next one. It is no Timeout::Error, because Net::HTTP
  # and other clients rescue that and retry.
  class DeadlineExceeded < Error
    include FromOutside

    # @return [Deadline, nil] the deadline that has passed
    attr_reader :deadline

    # @param message [String, nil] nil: a message with the deadline's length
    # @param deadline [Deadline, nil]
    def initialize(message = nil, deadline: nil)
      @deadline = deadline
      length = " of #{deadline.seconds} s (NB.deadline)" if deadline
      super(message || "the deadline#{length} has passed")
    end
  end

  # Raised in the waits of fibers whose result is no longer needed: another task of their NB.all has
  # failed, or the block around them was left. It is no StandardError, so that `rescue => e` in an
  # application does not swallow it. `ensure` blocks run as usual.
  class Cancelled < Exception # rubocop:disable Lint/InheritException -- see above
    include FromOutside

    # @return [Exception, nil] the exception that ended the whole
    attr_reader :reason

    def initialize(message = nil, reason: nil)
      @reason = reason
      super(message || "cancelled#{": #{reason.message} (#{reason.class})" if reason}")
    end
  end
end
