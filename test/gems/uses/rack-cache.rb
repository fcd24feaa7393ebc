# frozen_string_literal: true

# What one user is given is another's cached response, unless bodies have files of their own.
Gems.use "rack-cache" do
  requires "rack/cache"
  app do
    fresh = { "content-type" => "text/plain", "cache-control" => "public, max-age=600" }
    inner = ->(env) { [200, fresh.dup, ["#{env["PATH_INFO"]} #{env["QUERY_STRING"]}" * 500]] }
    folder = Dir.mktmpdir
    cache = Rack::Cache.new(inner, verbose: false, metastore: "file:#{folder}/meta",
                                   entitystore: "file:#{folder}/bodies")
    lambda do |env|
      bodies = Array.new(3) do |n|
        body = cache.call(env.merge("PATH_INFO" => "#{env["PATH_INFO"]}/#{n % 2}"))[2]
        body.enum_for(:each).to_a.join.tap { body.close if body.respond_to?(:close) }
      end
      [200, {}, bodies]
    end
  end
end
