# frozen_string_literal: true

Gems.use "request_store" do
  requires "request_store"
  app do
    RequestStore::Middleware.new(lambda do |env|
      RequestStore.store[:id] = env["PATH_INFO"]
      Hunt.nap
      [200, {}, [RequestStore.store[:id], RequestStore.fetch(:other) { env["PATH_INFO"] }]]
    end)
  end
end
