# frozen_string_literal: true

# Prepended to Mysql2::Statement.

module NeverBlock
  module DB
    module Mysql2
      module Statement
        # Sends a few bytes, which does not wait, but not while another call is under way.
        def close
          return super unless @neverblock_wire && Workers.parks?

          @neverblock_wire.occupy { super }
        end

        private

        def _execute(*arguments, **options)
          wire = @neverblock_wire
          return super unless wire && Workers.parks?

          result = wire.own(wire.occupy { wire.work { super(*arguments, **options) } })
          result && wire.protect(result)
        end
      end
    end
  end
end
