# frozen_string_literal: true

# Tells apart two meanings of SIGHUP: the terminal was closed, which ends the server, and a request
# for a reload. A server has a terminal when it was started from one, and not by systemd, in a
# container, by setsid(1), or by nohup(1), which ignores SIGHUP (tty_ioctl(4), setsid(2)).

module NeverBlock
  class Server
    class Terminal
      DEVICE = "/dev/tty"
      # Result of Signal.trap for a signal that was ignored.
      IGNORED = "IGNORE"
      private_constant :DEVICE, :IGNORED

      # To be made before the signal is trapped.
      # @param device [String]
      def initialize(device: DEVICE)
        @device = device
        @had = there?
      end

      # @param handler [String, Proc, nil] result of Signal.trap for SIGHUP
      # @return [void]
      def was_handled_by(handler)
        @had = false if handler == IGNORED
      end

      # @return [Boolean] whether it had a terminal that is closed now
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
