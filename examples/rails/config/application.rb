# frozen_string_literal: true

require_relative "boot"

require "rails"
require "active_job/railtie"
require "active_record/railtie"
require "active_storage/engine"
require "action_controller/railtie"
require "action_view/railtie"

Bundler.require(*Rails.groups)

module Papers
  class Application < Rails::Application
    config.load_defaults 7.2
    config.enable_reloading = Rails.env.development?
    config.eager_load = !Rails.env.development?
    config.consider_all_requests_local = !Rails.env.production?
    config.active_storage.service = :local
    config.active_storage.variant_processor = :disabled
    config.secret_key_base = ENV.fetch("SECRET_KEY_BASE") { "only for the example " * 4 }
    config.hosts.clear
  end
end
