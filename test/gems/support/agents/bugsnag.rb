# frozen_string_literal: true

require "bugsnag"

Bugsnag.configure do |config|
  config.api_key = "0123456789abcdef" * 2
  config.logger = Logger.new(File::NULL)
  config.set_endpoints("#{AppAgents::SINK}/notify", "#{AppAgents::SINK}/sessions")
  config.add_on_error(proc { |event| event.set_user(config.request_data[:id]) })
end

class AppAgents::OfBugsnag < AppAgents::Agent
  def around(application) = Bugsnag::Rack.new(application)
  def identify(id) = Bugsnag.configuration.set_request_data(:id, id)
  def note(text) = Bugsnag.leave_breadcrumb(text)
  def report(error) = Bugsnag.notify(error)
end
