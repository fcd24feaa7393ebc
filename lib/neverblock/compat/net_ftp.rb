# frozen_string_literal: true

# Net::FTP asks on its control connection, and the data of a file or a list come by another. What
# ends a fiber from outside (FromOutside) in a wait for the data leaves the server's last reply
# unread, and the next command would take it for its own answer. So would every command after it.
# Here the control connection is closed then, without a QUIT, whose answer would be waited for. The
# next command raises that it is closed, until #connect.
#
# Other exits leave it to the library, as on threads: #abort may follow a Timeout. Every version up
# to net-ftp 0.3.

module NeverBlock
  module Compat
    module NetFTP
      # Installs it once, when net/ftp is loaded.
      # @return [void]
      def self.apply
        return unless defined?(::Net::FTP)
        return unless ::Net::FTP.private_method_defined?(:with_binary)

        ::Net::FTP.prepend(Closes) unless ::Net::FTP.include?(Closes)
      end

      # Prepended to Net::FTP.
      module Closes
        # What talks to the server does it in here, but for the two below. Who is ended while it
        # waits for the lock has sent nothing, and another talks.
        def synchronize
          super { neverblock_closing { yield } }
        end

        def abort
          neverblock_closing { super }
        end

        def status(...)
          neverblock_closing { super }
        end

        private

        # A transfer is in its block. The library sets the mode again afterwards, by a command.
        def with_binary(mode)
          before = @binary
          super do
            mon_owned? ? neverblock_closing { yield } : yield
          ensure
            @binary = before if closed?
          end
        end

        def neverblock_closing
          killed_before = Compat.killed?
          yield
        rescue FromOutside
          neverblock_close
          raise
        ensure
          neverblock_close if !killed_before && Compat.killed?
        end

        # Of what is shut down TLS says no farewell, for which there may be no room.
        def neverblock_close
          return if closed?

          begin
            @bare_sock.shutdown
          ensure
            @sock.close
          end
        rescue StandardError
          nil # it was lost already
        end
      end
    end
  end
end
