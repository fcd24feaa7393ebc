# frozen_string_literal: true

# Each request waits for what it has broadcast itself, by PostgreSQL.
Gems.use "actioncable" do
  needs :postgresql
  app do
    application = Gems.rails("active_record/railtie", "action_cable/engine") do |app|
      ENV["DATABASE_URL"] = ENV.fetch("NB_HUNT_DATABASE")
      Dir.mkdir(File.join(app.config.root, "config"))
      File.write(File.join(app.config.root, "config/cable.yml"),
                 "production: { adapter: postgresql }")
      app.routes.append { get("/:id" => "things#show") }
    end
    ActionCable.server.config.logger = Logger.new(File::NULL)
    class ThingsController < ActionController::Base
      def show
        subscribed = Queue.new
        heard = Queue.new
        hear = ->(message) { heard << message }
        ActionCable.server.pubsub.subscribe(params[:id], hear, -> { subscribed << true })
        subscribed.pop
        2.times { |n| ActionCable.server.broadcast(params[:id], { n => params[:id] }) }
        render(plain: [heard.pop, heard.pop].sort.inspect)
        ActionCable.server.pubsub.unsubscribe(params[:id], hear)
      end
    end
    Gems.steady(application)
  end
end
