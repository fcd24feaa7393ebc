# frozen_string_literal: true

# The table of the race hunt, and its routes beside those of the other tests.
Rails.application.configure do
  config.cache_store = :memory_store
  config.force_ssl = false
  config.log_level = :error
  routes.append { get "rails/:id/:size/:action", controller: "hunt" }

  config.after_initialize do
    ActiveRecord::Schema.define do
      create_table(:hunt_rows, if_not_exists: true) { |t| t.integer(:number) && t.string(:token) }
    end
    unless HuntRow.exists?
      HuntRow.insert_all!(Array.new(100) { |number| { number: number, token: "row" } })
    end
  end
end
