# frozen_string_literal: true

Gems.use "connection_pool" do
  needs :redis
  requires "redis", "connection_pool"
  setup { POOL = ConnectionPool.new(size: 4, timeout: 60) { Redis.new(port: Gems::REDIS) } }
  answer do |id|
    POOL.with do |redis|
      redis.set(id, "v#{id}") && Hunt.nap &&
        [redis.get(id), POOL.with { |again| again.equal?(redis) }, redis.del(id)]
    end
  end
end
