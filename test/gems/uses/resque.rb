# frozen_string_literal: true

Gems.use "resque" do
  needs :redis
  requires "resque"
  setup do
    Resque.redis = "redis://127.0.0.1:#{Gems::REDIS}/2"
    class Work
      @queue = :work
      def self.perform(*) = nil
    end
  end
  answer do |id|
    [Resque.enqueue(Work, id), Resque.enqueue_to(id, Work, id), Resque.size(id),
     Resque.queues.include?(id), Resque.remove_queue(id).class, Resque.dequeue(Work, id)]
  end
end
