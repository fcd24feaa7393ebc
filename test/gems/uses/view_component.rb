# frozen_string_literal: true

Gems.use "view_component" do
  app do
    application = Gems.rails("action_view/railtie", "view_component", "view_component/base",
                             "view_component/engine") do |app|
      app.routes.append { get("/:id" => "things#show") }
    end
    class Shown < ViewComponent::Base
      erb_template "<b><%= @id %></b><% Hunt.nap %><%= content %>"
      def initialize(id) = @id = id
    end

    class ThingsController < ActionController::Base
      def show = render(Shown.new(params[:id]).with_content("x"))
    end
    ->(env) {
      application.call(env).tap { |found|
        %w[x-request-id x-runtime set-cookie].each { |name| found[1].delete(name) }
      }
    }
  end
end
