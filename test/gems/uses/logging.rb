# frozen_string_literal: true

Gems.use "logging" do
  requires "logging"
  answer do |id|
    Logging.mdc["id"] = id
    Logging.ndc.push(id)
    Hunt.nap
    [Logging.mdc["id"], Logging.ndc.peek].tap { Logging.mdc.clear && Logging.ndc.clear }
  end
end
