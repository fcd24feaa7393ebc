# frozen_string_literal: true

# Prepended to Mysql2::Result. One that was read whole is in memory; rows that are streamed are fetched by a thread.

require "neverblock/db/mysql2/rows"

module NeverBlock
  module DB
    module Mysql2
      module Result
        def each(*options, &block)
          return super unless @neverblock_wire && Workers.parks?
          return @neverblock_wire.occupy { @neverblock_wire.work { super(*options) } } unless block

          @neverblock_rows ||= Rows.new(@neverblock_wire)
          @neverblock_rows.each(->(&each_row) { super(*options, &each_row) }, &block)
        end

        # Reads what is left of the rows.
        def free
          return super unless @neverblock_wire && Workers.parks?

          @neverblock_rows&.stop
          @neverblock_wire.occupy { @neverblock_wire.work { super() } }
        end

        def count(*arguments, &block)
          @neverblock_rows && arguments.empty? && !block ? @neverblock_rows.count : super
        end

        def size
          @neverblock_rows ? @neverblock_rows.count : super
        end
      end
    end
  end
end
