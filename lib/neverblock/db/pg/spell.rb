# frozen_string_literal: true

module NeverBlock
  module DB
    module Pg
      # A fiber that is handed row after row out of memory does not wait, and nobody else runs: so it gives way when it has gone on for long.
      class Spell
        LONGEST_S = 0.005

        def initialize
          @began = now
        end

        # Lets the others run when it is time. Parks.
        def pause
          return if now - @began < LONGEST_S

          sleep(0)
          @began = now
        end

        private

        def now
          Process.clock_gettime(Process::CLOCK_MONOTONIC)
        end
      end
    end
  end
end
