# frozen_string_literal: true

Gems.use "geocoder" do
  requires "geocoder"
  setup do
    stub = [{ "coordinates" => [52.5, 13.4], "city" => "Berlin" }]
    Geocoder.configure(lookup: :test) && Geocoder::Lookup::Test.set_default_stub(stub)
  end
  answer do |id|
    [Geocoder.search(id).first.coordinates,
     Geocoder::Calculations.distance_between([52.5, 13.4], [48.1, 11.6]).round(3),
     Geocoder::Calculations.bearing_between([1, 2], [3, 4]).round(3)]
  end
end
