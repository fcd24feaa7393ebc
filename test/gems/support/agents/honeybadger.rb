# frozen_string_literal: true

ENV.update("HONEYBADGER_API_KEY" => "x", "HONEYBADGER_LOGGING_PATH" => File::NULL,
           "HONEYBADGER_ENV" => "production")
require "honeybadger"

Honeybadger.configure do |config|
  config.connection.host = AppAgents::SINK.host
  config.connection.port = AppAgents::SINK.port
  config.connection.secure = false
end

class AppAgents::OfHoneybadger < AppAgents::Agent
  def around(application)
    Honeybadger::Rack::ErrorNotifier.new(application, Honeybadger::Agent.instance)
  end

  def identify(id) = Honeybadger.context(user_id: id)
  def note(text) = Honeybadger.add_breadcrumb(text)
  def report(error) = Honeybadger.notify(error)
end
