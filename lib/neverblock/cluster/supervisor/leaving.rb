# frozen_string_literal: true

# The at_exit blocks of workers that end: how long they may take, and what becomes of those that
# take longer.

module NeverBlock
  module Cluster
    class Supervisor
      module Leaving
        # Thread-safe.
        # @return [Float, nil] seconds until the last worker has ended whose at_exit blocks run;
        #   nil: there is none
        def exit_left
          ends = @exits_end
          ends && [ends + ExitTime::MARGIN_S - now, 0.0].max
        end

        private

        # Before its executors are told to end, so that it knows when they have.
        def tell_exit_time(worker, time)
          worker.exit_time = time
          worker.control.tell(time.to_h)
        end

        # A stop bounds blocks that run already, as those of a replaced worker.
        def bound_exits
          time = ExitTime.stop(@settings, now)
          roster.all.each do |worker|
            worker.ending ? bound_exit(worker, time) : tell_exit_time(worker, time)
          end
        end

        def bound_exit(worker, time)
          limit = now + time.seconds(now)
          worker.exit_time, worker.exit_end = time, limit if limit < worker.exit_end
        end

        def exits_begin(worker)
          worker.exit_time ||= served?(worker) ? ExitTime.retire(@settings, now) : ExitTime.none
          worker.ending = now
          worker.exit_end = now + worker.exit_time.seconds(now)
        end

        def served?(worker)
          %i[serving retiring].include?(worker.state)
        end

        def check_ending(worker)
          let_leave(worker) if worker.terminated && now - worker.terminated > TERM_S
          return unless worker.ending && now > worker.exit_end + ExitTime::MARGIN_S

          end_exits(worker) unless worker.doom
          @processes.kill(worker.pid)
        end

        # It ends by itself, unless its thread for that has no turn, or a stop has cut its time.
        def end_exits(worker)
          seconds = format("%.3g", worker.exit_end - worker.ending)
          worker.doom = "did not end after its last request; at_exit blocks had #{seconds} s: " \
                        "#{worker.exit_time.advice}"
          log.warn("#{worker} #{worker.doom}") if @draining
        end

        def note_exits
          @exits_end = roster.all.filter_map(&:exit_end).max
        end
      end
    end
  end
end
