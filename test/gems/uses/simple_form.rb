# frozen_string_literal: true

Gems.use "simple_form" do
  app do
    application = Gems.rails("action_view/railtie", "simple_form") do |app|
      app.routes.append { get("/:id" => "things#show") }
    end
    require "active_model"
    class Form
      include ActiveModel::Model

      attr_accessor :name
    end

    class ThingsController < ActionController::Base
      def show
        render(inline: "<%= simple_form_for(Form.new(name: params[:id]), " \
                       "url: '/', authenticity_token: false) { |f| f.input(:name) } %>")
      end
    end
    ->(env) {
      application.call(env).tap { |found|
        %w[x-request-id x-runtime set-cookie].each { |name| found[1].delete(name) }
      }
    }
  end
end
