# frozen_string_literal: true

# The settings of a Rails application.

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
          [Finding.of(old ? :serious : :note, "rails-version",
                      "Rails #{found} #{old ? BY_THREAD : "is newer than the tested versions"}",
                      "Rails 7.1 to 8.1", guide: GUIDE)]
        end

        BY_THREAD = "leases database connections by thread: concurrent requests would share one"
        private_constant :BY_THREAD

        # ActiveSupport, with CurrentAttributes, without Rails.
        def outside
          return [] unless defined?(::ActiveSupport::IsolatedExecutionState)

          [Finding.of(:note, "isolation",
                      "ActiveSupport without Rails: NeverBlock keeps its state " \
                      "(CurrentAttributes, Time.zone) by fiber",
                      nil, guide: "docs/guides/frameworks.md")]
        end

        def isolation
          return no_railtie unless defined?(::NeverBlock::Railtie)
          return unless NeverBlock::Isolation.chosen == :thread

          Finding.of(:warning, "isolation",
                     "config.active_support.isolation_level = :thread: the server ignores it, " \
                     "because requests run in fibers of one thread; consoles and tasks follow it",
                     "remove the line; NeverBlock sets :fiber everywhere", guide: GUIDE)
        end

        def no_railtie
          Finding.of(:serious, "railtie",
                     "the application was loaded without NeverBlock's railtie: initializers have " \
                     "run with the state of threads, and allowblock is missing",
                     "gem \"neverblock\" in the Gemfile, without require: false", guide: GUIDE)
        end

        def application(subject)
          app = ::Rails.application or return []
          [concurrency(app), eager(app), reloading(app, subject), queue(app),
           *held(app, subject)].compact
        end

        # Routes of actions with allowblock.
        def held(app, subject)
          return [] unless defined?(::NeverBlock::LaneRoutes)

          load_controllers(app)
          found = LaneRoutes.of(app)
          lanes = cooperative?(subject.settings) ? nil : LaneRules.log_line(found.rules)
          untold = found.untold.map { |route| untold(route) }
          [(Finding.of(:note, "allowblock", lanes, nil, guide: GUIDE) if lanes), *untold].compact
        end

        def cooperative?(settings)
          settings[:cooperative] || settings[:scheduler] == :async
        end

        def untold(route)
          Finding.of(:warning, "allowblock", "allowblock: #{LaneRoutes::UNTOLD.call(route)}",
                     "a path of its own for it", guide: GUIDE)
        end

        # Loads the controllers that routes name. An error in one is left to its first request.
        def load_controllers(app)
          app.reload_routes_unless_loaded if app.respond_to?(:reload_routes_unless_loaded)
          names = app.routes.routes.filter_map { |route| route.defaults[:controller] }.uniq
          names.each do |name|
            "#{name.camelize}Controller".safe_constantize
          rescue StandardError, ScriptError
            nil
          end
        end

        def concurrency(app)
          config = app.config
          return unless config.respond_to?(:allow_concurrency) && config.allow_concurrency == false

          Finding.of(:serious, "rack-lock",
                     "config.allow_concurrency = false: one request at a time in each process",
                     "remove the line")
        end

        def eager(app)
          return if app.config.eager_load || ::Rails.env.development? || ::Rails.env.test?

          blocks = RUBY_VERSION < "3.2"
          effect = ", which on Ruby #{RUBY_VERSION} blocks all of them" if blocks
          Finding.of(blocks ? :warning : :note, "eager-load",
                     "config.eager_load is off in #{::Rails.env}: code is loaded while requests " \
                     "run#{effect}",
                     "config.eager_load = true", guide: GUIDE)
        end

        def reloading(app, subject)
          return unless app.config.respond_to?(:enable_reloading) && app.config.enable_reloading
          return if subject.workers == 1 || ::Rails.env.development?

          Finding.of(:warning, "reloading",
                     "config.enable_reloading is on in #{::Rails.env}: a changed file is loaded " \
                     "while requests run",
                     "config.enable_reloading = false", guide: GUIDE)
        end

        def queue(app)
          adapter = app.config.active_job.queue_adapter if app.config.respond_to?(:active_job)
          return unless adapter.to_s == "async" && ::Rails.env.production?

          Finding.of(:note, "active-job",
                     "ActiveJob's async adapter runs jobs in threads of the server, and loses " \
                     "them when it ends",
                     "a queue with its own process (Solid Queue, Sidekiq)", guide: GUIDE)
        end
        private_class_method :version, :outside, :isolation, :no_railtie, :application,
                             :concurrency, :eager, :reloading, :queue, :held, :cooperative?,
                             :untold, :load_controllers
      end
    end
  end
end
