# frozen_string_literal: true

Gems.use "solid_cache" do
  needs :postgresql
  app do
    application = Gems.rails("active_record/railtie", "active_job/railtie") do |app|
      ENV["DATABASE_URL"] = ENV.fetch("NB_HUNT_DATABASE")
      require "solid_cache"
      app.config.cache_store = :solid_cache_store, { max_entries: 10_000, expiry_batch_size: 10 }
      app.routes.append { get("/:id" => "things#show") }
    end
    Gems.table(:solid_cache_entries, key: :binary, value: :binary, created_at: :datetime,
                                     key_hash: :bigint, byte_size: :integer)
    ActiveRecord::Base.connection.add_index(:solid_cache_entries, :key_hash, unique: true)
    class ThingsController < ActionController::Base
      def show
        cache = Rails.cache
        made = cache.fetch(params[:id]) { Hunt.nap && "made for #{params[:id]}" }
        shared = cache.fetch("shared", expires_in: 60) { Hunt.nap && 7 }
        cache.write_multi("a#{params[:id]}" => 1, "b#{params[:id]}" => 2)
        render(plain: [made, shared, cache.delete(params[:id]).class].inspect)
      end
    end
    Gems.steady(application)
  end
end
