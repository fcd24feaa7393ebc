# frozen_string_literal: true

# Its events go to the HTTP service by its own transport and threads.
Gems.use "sentry-rails" do
  needs :postgresql
  app do
    application = Gems.rails("active_record/railtie") do |app|
      require "sentry-rails"
      ENV["DATABASE_URL"] = ENV.fetch("NB_HUNT_DATABASE")
      app.routes.append { get("/:id" => "watched#show") }
      Sentry.init do |config|
        config.dsn = "http://key@127.0.0.1:#{Hunt::SERVICE}/1"
        config.sdk_logger = Logger.new(File::NULL)
        config.traces_sample_rate = 1.0
        config.enabled_environments = %w[production]
        config.breadcrumbs_logger = []
        config.send_client_reports = false
      end
    end
    class WatchedController < ActionController::Base
      def show
        id = params[:id]
        Sentry.set_tags(id: id)
        Sentry.add_breadcrumb(Sentry::Breadcrumb.new(message: id))
        ActiveRecord::Base.connection.select_value("select pg_sleep(0.002)")
        parent = Sentry.get_current_scope.get_span
        below = Sentry.with_child_span(op: "inner") do |span|
          Hunt.nap
          [span.parent_span_id == parent.span_id, Sentry.get_current_scope.get_span.equal?(span)]
        end
        event = Sentry.capture_message("seen")
        traced = parent.transaction.trace_id == event.contexts.dig(:trace, :trace_id)
        render(plain: [below, event.tags.slice(:id), event.breadcrumbs.map(&:message),
                       event.transaction, traced].inspect)
      end
    end
    Gems.steady(application)
  end
end
