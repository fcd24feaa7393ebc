# frozen_string_literal: true

Gems.use "rails" do
  needs :postgresql
  app do
    application = Gems.rails("active_record/railtie") do |app|
      ENV["DATABASE_URL"] = ENV.fetch("NB_HUNT_DATABASE")
      app.routes.append { get("/:id" => "things#show") }
    end
    class ThingsController < ActionController::Base
      def show
        render(inline: "<%= params[:id] %> " \
                       "<%= ActiveRecord::Base.connection.select_value('select 1') %> " \
                       "<% Hunt.nap %><%= request.path %>")
      end
    end
    Gems.steady(application)
  end
end
