# frozen_string_literal: true

Gems.use "wisper" do
  requires "wisper"
  setup do
    class Shop
      include Wisper::Publisher

      def sell(id) = broadcast(:sold, id)
    end
  end
  answer do |id|
    listener = Struct.new(:seen) { def sold(id) = Hunt.nap && seen << id }.new([])
    Wisper.subscribe(listener) { Hunt.nap && Shop.new.sell(id) }
    listener.seen
  end
end
