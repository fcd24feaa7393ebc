# frozen_string_literal: true

Gems.use "lograge" do
  app do
    application = Gems.rails("lograge") do |app|
      app.config.lograge.enabled = true
      app.config.lograge.custom_options = ->(event) { { id: event.payload[:params]["id"] } }
      app.config.lograge.logger = Class.new { def info(text) = Thread.current[:logged] = text }.new
      app.routes.append { get("/:id" => "things#show") }
    end
    class ThingsController < ActionController::Base
      def show = Hunt.nap && render(plain: params[:id])
    end
    lambda do |env|
      found = application.call(env)
      %w[x-request-id x-runtime set-cookie].each { |name| found[1].delete(name) }
      found[1]["x-logged"] = Thread.current[:logged][/ id=\S+/]
      found
    end
  end
end
