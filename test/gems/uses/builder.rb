# frozen_string_literal: true

Gems.use "builder" do
  requires "builder"
  answer do |id|
    (xml = Builder::XmlMarkup.new(indent: 1)).a { xml.b(id, "c" => 1) && Hunt.nap && xml.d }
  end
end
