# frozen_string_literal: true

# Tells a SIGHUP of a terminal that was closed, which ends the server, from one that asks for a reload. A server has a terminal when it was started from one, and not by
# systemd, in a container, by setsid(1) or by nohup(1), which has SIGHUP ignored (tty_ioctl(4), setsid(2)).

module NeverBlock
  class Server
    class Terminal
      DEVICE = "/dev/tty"
      # What Signal.trap says of a signal that was ignored before.
      IGNORED = "IGNORE"
      private_constant :DEVICE, :IGNORED

      # Before the signal is trapped.
      # @param device [String]
      def initialize(device: DEVICE)
        @device = device
        @had = there?
      end

      # @param handler [String, Proc, nil] what Signal.trap has said of SIGHUP's handler before
      # @return [void]
      def was_handled_by(handler)
        @had = false if handler == IGNORED
      end

      # @return [Boolean] whether it had one and it is closed
      def gone?
        @had && !there?
      end

      private

      def there?
        File.open(@device, File::RDWR | File::NOCTTY | File::NONBLOCK).close
        true
      rescue SystemCallError
        false
      end
    end
  end
end
