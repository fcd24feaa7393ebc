# frozen_string_literal: true

Gems.use "honeybadger" do
  setup do
    ENV.update("HONEYBADGER_API_KEY" => "x", "HONEYBADGER_BACKEND" => "null",
               "HONEYBADGER_LOGGING_PATH" => File::NULL, "HONEYBADGER_ENV" => "test")
    require "honeybadger"
  end
  answer do |id|
    Honeybadger.context(id: id)
    Honeybadger.add_breadcrumb(id)
    Hunt.nap
    [Honeybadger.get_context, Honeybadger.breadcrumbs.map(&:message)].tap { Honeybadger.clear! }
  end
end
