# frozen_string_literal: true

Gems.use "devise" do
  needs :postgresql
  app do
    ENV["DATABASE_URL"] = ENV.fetch("NB_HUNT_DATABASE")
    %w[rails active_record/railtie action_mailer/railtie devise devise/orm/active_record]
      .each { |file| require file }
    Devise.stretches = 1
    Devise.parent_controller = "ActionController::Base"
    Devise.secret_key = "x" * 64
    Gems.records(email: :string, encrypted_password: :string)
    Item.devise(:database_authenticatable)
    application = Gems.rails("action_view/railtie") do |app|
      app.routes.append { devise_for(:items) && get("/:id" => "things#show") }
    end
    class ThingsController < ActionController::Base
      def show
        item = Item.new(email: "#{params[:id]}@example.org", password: params[:id])
        sign_in(:item, item, store: false)
        Hunt.nap
        render(plain: "#{current_item.email} #{item.valid_password?(params[:id])} " \
                      "#{item_signed_in?}")
      end
    end
    ->(env) {
      application.call(env).tap { |found|
        %w[x-request-id x-runtime set-cookie].each { |name| found[1].delete(name) }
      }
    }
  end
end
