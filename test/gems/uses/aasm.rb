# frozen_string_literal: true

Gems.use "aasm" do
  requires "aasm"
  setup do
    class Job
      include AASM

      aasm {
        state(:waiting, initial: true) && state(:running) && event(:run) {
          transitions(from: :waiting, to: :running, guard: -> { Hunt.nap })
        }
      }
    end
  end
  answer { |id|
    Job.new.then { |job|
      [id, job.may_run?, job.run, job.aasm.current_state, begin
        job.run
      rescue
        $!.class
      end]
    }
  }
end
