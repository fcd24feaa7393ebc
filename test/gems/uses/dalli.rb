# frozen_string_literal: true

Gems.use "dalli" do
  needs :memcached
  requires "dalli"
  setup { CACHE = Dalli::Client.new("127.0.0.1:#{Gems::MEMCACHED}", socket_timeout: 30) }
  answer do |id|
    [CACHE.set(id, "v#{id}").class, CACHE.get(id), CACHE.fetch("f#{id}") { Hunt.nap && id },
     CACHE.get_multi(id, "f#{id}")]
  end
end
