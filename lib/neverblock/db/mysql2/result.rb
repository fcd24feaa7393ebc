# frozen_string_literal: true

# Prepended to Mysql2::Result. Rows that are streamed are fetched by a thread. Rows of a result that
# was read as a whole are in memory, and become Ruby objects on demand. For a large result that
# takes long, so other fibers run between the rows.

require "neverblock/db/mysql2/rows"
require "neverblock/db/cpu_burst"

module NeverBlock
  module DB
    module Mysql2
      module Result
        # Seconds of work on rows after which other fibers run.
        TURN_S = 0.002
        private_constant :TURN_S

        def each(*options, &block)
          return super unless @neverblock_wire && Workers.parks?
          return super(*options, &neverblock_in_turns(block)) unless @neverblock_streams
          return @neverblock_wire.occupy { @neverblock_wire.work { super(*options) } } unless block

          @neverblock_rows ||= Rows.new(@neverblock_wire)
          @neverblock_rows.each(->(&each_row) { super(*options, &each_row) }, &block)
        end

        # Reads the remaining rows.
        def free
          return super unless @neverblock_streams && Workers.parks?

          @neverblock_rows&.stop
          @neverblock_wire.occupy { @neverblock_wire.work { super() } }
        end

        def count(*arguments, &block)
          @neverblock_rows && arguments.empty? && !block ? @neverblock_rows.count : super
        end

        def size
          @neverblock_rows ? @neverblock_rows.count : super
        end

        # @param wire [Wire] of the connection
        # @param streams [Boolean] whether the rows are still to be fetched from there
        def neverblock_of(wire, streams)
          @neverblock_wire = wire
          @neverblock_streams = streams
        end

        private

        def neverblock_in_turns(block)
          burst = CpuBurst.new(TURN_S)
          block && proc do |row|
            block.call(row)
            burst.pause
          end
        end
      end
    end
  end
end
