# frozen_string_literal: true

Gems.use "sucker_punch" do
  requires "sucker_punch"
  setup do
    SuckerPunch.logger = Logger.new(File::NULL)
    class Work
      include SuckerPunch::Job

      workers 3
      def perform(text, done) = Hunt.nap && done << text
    end
  end
  answer do |id|
    done = Queue.new
    Work.perform_async("now #{id}", done)
    Work.perform_in(0.01, "soon #{id}", done)
    [done.pop, done.pop].sort
  end
end
