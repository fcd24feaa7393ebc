# frozen_string_literal: true

# What a Rails application gets by having NeverBlock in its Gemfile:
#
#   isolation  config.active_support.isolation_level = :fiber, before the initializers run: the
#   state of
#              a request (CurrentAttributes, connections and others) is its fiber's
#   actions    `allowblock :export` and `neverblock :index` in controllers (ActionModes)
#   lanes      routes of actions that `allowblock` names run on a thread of their own (LaneRoutes)
#   routes     are loaded before the first request
#   Capybara   `Capybara.server = :neverblock`
#
# `rails server` and `neverblock` run the application the same way. Rails 7.1 and later.

require "neverblock/boot/last_exit"
require "neverblock/rails/action_modes"
require "neverblock/rails/isolation"

# `rails server` starts again after what the application does at its exit.
NeverBlock::Boot::LastExit.prepare

module NeverBlock
  class Railtie < ::Rails::Railtie
    # A default: config/application.rb and config/environments are read later.
    config.active_support.isolation_level = :fiber

    # Runs before any state is kept by thread. Rails sets the level after all initializers.
    initializer "neverblock.isolation", after: :load_environment_config,
                                        before: :load_environment_hook, group: :all do |app|
      Isolation.set(app.config.active_support.isolation_level)
    end

    initializer "neverblock.actions" do
      ActiveSupport.on_load(:action_controller) { include ActionModes }
    end

    # In development a controller is loaded by the first request that needs it, and may be loaded
    # again.
    initializer "neverblock.lanes" do |app|
      app.executor.to_complete { LaneRoutes.refresh(app) }
      app.reloader.to_prepare { LaneRoutes.changed }
      # At the start this comes behind every after_initialize.
      config.after_routes_loaded do
        LaneRoutes.changed
        LaneRoutes.refresh(app)
      end
    end

    # In development Rails 8 loads the routes in the first request that needs them, and 8.0 answers
    # 404 to requests that come meanwhile. So they are loaded before.
    server do |app|
      app.reload_routes_unless_loaded if app.respond_to?(:reload_routes_unless_loaded)
    end

    initializer "neverblock.system_tests" do
      ActiveSupport.on_load(:action_dispatch_system_test_case) { require "neverblock/capybara" }
    end
  end
end
