# frozen_string_literal: true

# What a Rails application gets by having NeverBlock in its Gemfile:
#
#   isolation   the state of a request (CurrentAttributes, connections, ...) is its fiber's: config.active_support.isolation_level = :fiber, in time for initializers
#   actions     `allowblock :export` and `neverblock :index` in controllers (ActionModes)
#   lanes       the routes of actions that `allowblock` names run on a thread of their own (LaneRoutes)
#   routes      are there before the first request
#   Capybara    `Capybara.server = :neverblock`
#
# `rails server` and `neverblock` run the application the same way. Rails 7.1 and later.

require "neverblock/rails/action_modes"
require "neverblock/rails/isolation"

module NeverBlock
  class Railtie < ::Rails::Railtie
    config.active_support.isolation_level = :fiber # what config/application.rb and config/environments say comes later

    # Before anything has left state with a thread; Rails itself sets the level when all initializers have run.
    initializer "neverblock.isolation", after: :load_environment_config, before: :load_environment_hook, group: :all do |app|
      Isolation.set(app.config.active_support.isolation_level)
    end

    initializer "neverblock.actions" do
      ActiveSupport.on_load(:action_controller) { include ActionModes }
    end

    # In development controllers are loaded by the first request that needs them, and loaded again.
    initializer "neverblock.lanes" do |app|
      app.executor.to_complete { LaneRoutes.refresh(app) }
      app.reloader.to_prepare { LaneRoutes.changed }
      config.after_initialize { LaneRoutes.refresh(app) }
    end

    # By itself Rails 8 has the first request that needs them load them in development, and 8.0 answers 404 to those that come meanwhile.
    server { |app| app.reload_routes_unless_loaded if app.respond_to?(:reload_routes_unless_loaded) }

    initializer "neverblock.system_tests" do
      ActiveSupport.on_load(:action_dispatch_system_test_case) { require "neverblock/capybara" }
    end
  end
end
