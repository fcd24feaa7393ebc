# frozen_string_literal: true

Gems.use "bugsnag" do
  requires "bugsnag"
  setup do
    Bugsnag.configure do |config|
      config.api_key = "x" * 32
      config.logger = Logger.new(File::NULL)
      config.auto_capture_sessions = false
    end
  end
  answer do |id|
    Bugsnag.configuration.set_request_data(:id, id)
    Bugsnag.leave_breadcrumb(id)
    Hunt.nap
    [Bugsnag.configuration.request_data[:id], Bugsnag.breadcrumbs.map(&:name)].tap do
      Bugsnag.configuration.clear_request_data
    end
  end
end
