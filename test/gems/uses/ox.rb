# frozen_string_literal: true

Gems.use "ox" do
  requires "ox"
  setup do
    class Names < Ox::Sax
      attr_reader :seen

      def start_element(name) = Hunt.nap && (@seen ||= []) << name
      def text(value) = @seen << value
    end
  end
  answer do |id|
    Names.new.tap { |names| Ox.sax_parse(names, StringIO.new("<a><b>#{id}</b></a>")) }.seen <<
      Ox.parse("<x>#{id}</x>").text
  end
end
