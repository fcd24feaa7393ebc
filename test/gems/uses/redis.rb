# frozen_string_literal: true

Gems.use "redis" do
  needs :redis
  requires "redis"
  setup { KEPT = Redis.new(port: Gems::REDIS) }
  answer do |id|
    KEPT.set(id, "v#{id}")
    [KEPT.get(id), KEPT.pipelined { |pipeline| pipeline.get(id) && pipeline.del(id) },
     KEPT.multi { |multi| multi.set("m#{id}", 1) && multi.get("m#{id}") }]
  end
end
