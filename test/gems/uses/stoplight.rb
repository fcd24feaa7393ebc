# frozen_string_literal: true

Gems.use "stoplight" do
  requires "stoplight"
  setup { Stoplight.default_notifiers = [] }
  answer do |id|
    light = Stoplight("light #{id}").with_threshold(2)
    3.times.map {
      begin
        light.run { Hunt.nap && raise(KeyError, id) }
      rescue
        $!.class.name
      end
    }
  end
end
