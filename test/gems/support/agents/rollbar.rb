# frozen_string_literal: true

require "rollbar"
require "rollbar/middleware/rack"

Rollbar.configure do |config|
  config.access_token = "x" * 32
  config.endpoint = "#{AppAgents::SINK}/api/1/item/"
  config.logger = Logger.new(File::NULL)
  config.environment = "production"
end

class AppAgents::OfRollbar < AppAgents::Agent
  def around(application) = Rollbar::Middleware::Rack.new(application)

  def identify(id)
    Rollbar.scope!(person: { id: id }, custom: { request: id })
  end

  def report(error) = Rollbar.error(error)

  # Its threads begin with the scope of the thread that makes them.
  def carry
    return unless AppAgents::OURS

    NB.carry(:rollbar) do
      notifier = Rollbar.notifier.scope
      ->(&work) { (Rollbar.notifier = notifier) && work.call }
    end
  end
end
