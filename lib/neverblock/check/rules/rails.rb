# frozen_string_literal: true

# A Rails application's settings.

require "neverblock/check/finding"
require "neverblock/rails/isolation"

module NeverBlock
  module Check
    module Rules
      module Rails
        GUIDE = "docs/guides/rails.md"
        SUPPORTED = Gem::Requirement.new(">= 7.1", "< 8.2")

        module_function

        # @return [Array<Finding>]
        def call(subject)
          return [*version(subject.bundle), *outside] unless defined?(::Rails::Railtie)

          [*version(subject.bundle), isolation, *application(subject)].compact
        end

        def version(bundle)
          found = bundle.version("railties") or return []
          return [] if SUPPORTED.satisfied_by?(found)

          old = found < Gem::Version.new("7.1")
          why = old ? "leases database connections by thread: requests that run at once would share one" : "is newer than what NeverBlock was tested with"
          [Finding.of(old ? :serious : :note, "rails-version", "Rails #{found} #{why}", "Rails 7.1 to 8.1", guide: GUIDE)]
        end

        # CurrentAttributes and the like without Rails.
        def outside
          return [] unless defined?(::ActiveSupport::IsolatedExecutionState)

          [Finding.of(:note, "isolation", "ActiveSupport without Rails: NeverBlock keeps its state (CurrentAttributes, Time.zone) by fiber", nil,
                      guide: "docs/guides/frameworks.md")]
        end

        def isolation
          return Finding.of(:serious, "railtie",
                            "the application was loaded without NeverBlock's railtie: initializers have run with the state of threads, and allowblock is not there",
                            "gem \"neverblock\" in the Gemfile, without require: false", guide: GUIDE) unless defined?(::NeverBlock::Railtie)
          return unless NeverBlock::Isolation.chosen == :thread

          Finding.of(:warning, "isolation",
                     "config.active_support.isolation_level = :thread: serving does not follow it, since requests run at once in fibers of one thread; consoles and tasks do",
                     "remove the line; NeverBlock sets :fiber everywhere", guide: GUIDE)
        end

        def application(subject)
          app = ::Rails.application or return []
          [concurrency(app), eager(app), reloading(app, subject), queue(app), *held(app, subject)].compact
        end

        # Routes of actions that allowblock names.
        def held(app, subject)
          return [] unless defined?(::NeverBlock::LaneRoutes)

          load_controllers(app)
          found = LaneRoutes.of(app)
          lanes = subject.settings[:cooperative] ? nil : LaneRules.told(found.rules)
          untold = found.untold.map { |route| Finding.of(:warning, "allowblock", "allowblock: #{LaneRoutes::UNTOLD.call(route)}", "a path of its own for it", guide: GUIDE) }
          [(Finding.of(:note, "allowblock", lanes, nil, guide: GUIDE) if lanes), *untold].compact
        end

        # Those that routes name; what is wrong with one is said by its first request.
        def load_controllers(app)
          app.reload_routes_unless_loaded if app.respond_to?(:reload_routes_unless_loaded)
          app.routes.routes.filter_map { |route| route.defaults[:controller] }.uniq.each do |name|
            "#{name.camelize}Controller".safe_constantize
          rescue StandardError, ScriptError
            nil
          end
        end

        def concurrency(app)
          return unless app.config.respond_to?(:allow_concurrency) && app.config.allow_concurrency == false

          Finding.of(:serious, "rack-lock", "config.allow_concurrency = false: one request at a time in each process", "remove the line")
        end

        def eager(app)
          return if app.config.eager_load || ::Rails.env.development? || ::Rails.env.test?

          level = RUBY_VERSION < "3.2" ? :warning : :note
          Finding.of(level, "eager-load",
                     "config.eager_load is off in #{::Rails.env}: code is loaded while requests run#{", which on Ruby #{RUBY_VERSION} stops all of them" if level == :warning}",
                     "config.eager_load = true", guide: GUIDE)
        end

        def reloading(app, subject)
          return unless app.config.respond_to?(:enable_reloading) && app.config.enable_reloading && subject.workers > 1 && !::Rails.env.development?

          Finding.of(:warning, "reloading", "config.enable_reloading is on in #{::Rails.env}: a changed file is loaded under requests", "config.enable_reloading = false",
                     guide: GUIDE)
        end

        def queue(app)
          adapter = app.config.active_job.queue_adapter if app.config.respond_to?(:active_job)
          return unless adapter.to_s == "async" && ::Rails.env.production?

          Finding.of(:note, "active-job", "ActiveJob's async adapter runs jobs in threads of the server, and loses them when it ends",
                     "a queue of its own process (Solid Queue, Sidekiq)", guide: GUIDE)
        end
        private_class_method :version, :outside, :isolation, :application, :concurrency, :eager, :reloading, :queue, :held, :load_controllers
      end
    end
  end
end
