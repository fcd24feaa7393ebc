# frozen_string_literal: true

Gems.use "addressable" do
  requires "addressable/uri", "addressable/template"
  answer do |id|
    [Addressable::URI.parse("http://example.org/#{id}?b=ü").normalize.to_s,
     Addressable::Template.new("/{id}{?n*}").expand(id: id, n: { "a" => 1 }).to_s]
  end
end
