# frozen_string_literal: true

Gems.use "devise" do
  needs :postgresql
  app do
    ENV["DATABASE_URL"] = ENV.fetch("NB_HUNT_DATABASE")
    require "devise"
    Devise.setup { |config| config.stretches = 1 && config.secret_key = "x" * 64 && require("devise/orm/active_record") }
    application = Gems.rails("active_record/railtie", "action_mailer/railtie") { |app| app.routes.append { devise_for(:items) && get("/:id" => "things#show") } }
    Gems.records(email: :string, encrypted_password: :string)
    Item.devise(:database_authenticatable)
    class ThingsController < ActionController::Base
      def show
        item = Item.new(email: "#{params[:id]}@example.org", password: params[:id])
        sign_in(:item, item, store: false)
        Hunt.nap
        render(plain: "#{current_item.email} #{item.valid_password?(params[:id])} #{item_signed_in?}")
      end
    end
    application.reload_routes!
    ->(env) { application.call(env).tap { |found| %w[x-request-id x-runtime set-cookie].each { |name| found[1].delete(name) } } }
  end
end
