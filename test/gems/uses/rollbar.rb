# frozen_string_literal: true

Gems.use "rollbar" do
  requires "rollbar"
  setup do
    Rollbar.configure do |config|
      config.enabled = false
      config.logger = Logger.new(File::NULL)
    end
  end
  answer do |id|
    Rollbar.scoped(person: { id: id }) do
      Hunt.nap
      Rollbar.scope_object.raw[:person]
    end
  end
end
