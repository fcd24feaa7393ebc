# frozen_string_literal: true

Gems.use "flipper" do
  requires "flipper"
  setup do
    Flipper.configure { |config| config.adapter { Flipper::Adapters::Memory.new } }
    Flipper.enable_percentage_of_actors(:some, 50)
    ACTOR = Struct.new(:flipper_id)
  end
  answer do |id|
    [Flipper.enabled?(:some, ACTOR.new(id)), Flipper.enabled?(:none),
     Hunt.nap && Flipper[:some].enabled?(ACTOR.new(id))]
  end
end
