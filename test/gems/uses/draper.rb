# frozen_string_literal: true

Gems.use "draper" do
  app do
    application = Gems.rails("action_view/railtie", "active_model/railtie", "draper") do |app|
      app.routes.append { get("/:id" => "things#show") }
    end
    Shown = Struct.new(:id)
    class ShownDecorator < Draper::Decorator
      def name = Hunt.nap && h.content_tag(:b, object.id)
    end

    class ThingsController < ActionController::Base
      def show = render(html: ShownDecorator.new(Shown.new(params[:id])).name)
    end
    ->(env) {
      application.call(env).tap { |found|
        %w[x-request-id x-runtime set-cookie].each { |name| found[1].delete(name) }
      }
    }
  end
end
