# frozen_string_literal: true

Gems.use "builder" do
  requires "builder"
  answer { |id| Builder::XmlMarkup.new(indent: 1).then { |xml| xml.a { xml.b(id, "c" => 1) && Hunt.nap && xml.d } } }
end
