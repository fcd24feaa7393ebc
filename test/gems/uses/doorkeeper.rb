# frozen_string_literal: true

# An application gets a token, and asks with it.
Gems.use "doorkeeper" do
  needs :postgresql
  app do
    application = Gems.rails("active_record/railtie") do |app|
      ENV["DATABASE_URL"] = ENV.fetch("NB_HUNT_DATABASE")
      require "doorkeeper"
      Doorkeeper.configure do
        orm :active_record
        grant_flows %w[client_credentials]
        default_scopes :public
        base_controller "ActionController::Base"
      end
      app.routes.append { use_doorkeeper && get("/:id" => "things#show") }
    end
    Gems.table(:oauth_applications, name: :string, uid: :string, secret: :string, scopes: :string,
                                    redirect_uri: :text, confidential: :boolean,
                                    created_at: :datetime, updated_at: :datetime)
    Gems.table(:oauth_access_tokens, resource_owner_id: :bigint, application_id: :bigint,
                                     token: :string, refresh_token: :string, scopes: :string,
                                     expires_in: :integer, created_at: :datetime,
                                     revoked_at: :datetime, previous_refresh_token: :string)
    Doorkeeper::Application.create!(name: "n", uid: "u", secret: "s", scopes: "public",
                                    redirect_uri: "https://example.org", confidential: true)
    class ThingsController < ActionController::Base
      before_action :doorkeeper_authorize!
      def show = render(plain: "#{params[:id]} #{Hunt.nap && doorkeeper_token.application.uid}")
    end
    steady = Gems.steady(application)
    lambda do |env|
      form = "grant_type=client_credentials&client_id=u&client_secret=s"
      answer = Rack::MockRequest.new(application).post("https://example.org/oauth/token",
                                                       input: form)
      steady.call(env.merge("HTTP_AUTHORIZATION" => "Bearer #{JSON(answer.body)["access_token"]}"))
    end
  end
end
