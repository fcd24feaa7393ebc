# frozen_string_literal: true

Gems.use "sidekiq" do
  needs :redis
  requires "sidekiq"
  setup do
    Sidekiq.configure_client do |config|
      config.redis = { url: "redis://127.0.0.1:#{Gems::REDIS}/1", size: 5 }
    end
    Sidekiq.default_configuration.logger = Logger.new(File::NULL)
    class Work
      include Sidekiq::Job
    end
  end
  answer do |id|
    [Work.perform_async(id).class, Work.set(queue: "q").perform_in(60, id).class,
     Sidekiq.redis { |redis| redis.call("SET", id, id, "EX", 9) }]
  end
end
