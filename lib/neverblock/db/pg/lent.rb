# frozen_string_literal: true

# pg lends libpq's descriptor to an IO. It makes the IO, which closes the descriptor when it is
# collected, and then tells the IO not to (ext/pg_connection.c, pg_wrap_socket_io). Ruby looks for
# interrupts after each of the two methods. What is raised there leaves an IO that closes libpq's
# descriptor later, or one that has got the same number since. Threads that Timeout interrupts have
# the same fault.
#
# Here nothing is raised between the two, nor between the close of such an IO and the note that it
# is gone.

module NeverBlock
  module DB
    module Pg
      # Prepended to PG::Connection and PG::CancelConnection.
      module Lent
        # @return [IO]
        def socket_io
          Compat::HandleInterrupt.undisturbed { super }
        end

        def finish
          Compat::HandleInterrupt.undisturbed { super }
        end
      end
    end
  end
end
