# frozen_string_literal: true

# rubocop:disable Style/RescueModifier -- what is raised is a part of the answer

class GemCallbacks
  # What looks at the program itself.
  module Programs
    # Fibers apart: the methods of this one alone.
    def rubyprof(me, turn)
      values = nil
      result = RubyProf::Profile.new(include_threads: [Thread.current]).profile do
        values = Array.new(5 + (me % 4)) { turn.call rescue $!.message }
      end
      own = result.threads.find { |thread| thread.fiber_id == Fiber.current.object_id }
      [values, own.methods.select { |method| method.full_name.include?("Turn#call") }.map(&:called)]
    end

    def stackprof_wall(me, turn)
      Programs.profiled(:wall, 500) { Array.new(5) { |n| turn.call("#{me}-#{n}") } }
    end

    def stackprof_cpu(me, turn)
      Programs.profiled(:cpu, 500) { Array.new(5) { |n| turn.call("#{me}-#{n}") } }
    end

    def stackprof_object(me, turn)
      Programs.profiled(:object, 5) { Array.new(5) { |n| turn.call("#{me}-#{n}") } }
    end

    @profiling = 0
    @profiles = Mutex.new

    # The process has one profile. The first request begins it, and the last ends it.
    def self.profiled(mode, interval)
      @profiles.synchronize do
        (@profiling += 1) == 1 && StackProf.start(mode: mode, interval: interval, raw: true)
      end
      begin
        [(yield rescue $!.message), StackProf.running?]
      ensure
        @profiles.synchronize { (@profiling -= 1).zero? && StackProf.stop }
      end
    end
  end
end

# rubocop:enable Style/RescueModifier
