# frozen_string_literal: true

# A user signs in, and comes again with the session that he was given.
Gems.use "warden" do
  needs :memcached
  requires "rack", "warden", "rack/session", "rack/session/dalli"
  app do
    Warden::Strategies.add(:path) do
      def authenticate! = Hunt.nap && success!("user of #{env["PATH_INFO"]}")
    end
    Warden::Manager.serialize_into_session { |user| Hunt.nap && user }
    Warden::Manager.serialize_from_session { |user| Hunt.nap && user }
    inner = lambda do |env|
      env["warden"].authenticate!
      visits = env["rack.session"]["visits"] = env["rack.session"]["visits"].to_i + 1
      [200, {}, ["#{env["warden"].user}: #{visits}\n"]]
    end
    warden = Warden::Manager.new(inner, default_strategies: [:path])
    stores = [Rack::Session::Cookie.new(warden, secrets: ["x" * 64]), Rack::Session::Pool.new(warden),
              Rack::Session::Dalli.new(warden, memcache_server: "127.0.0.1:#{Gems::MEMCACHED}")]
    lambda do |env|
      seen = stores.flat_map do |store|
        _, headers, first = store.call(env.dup)
        cookie = headers["set-cookie"][/\A[^;]+/]
        [*first, *store.call(env.merge("HTTP_COOKIE" => cookie))[2]]
      end
      [200, {}, seen]
    end
  end
end
