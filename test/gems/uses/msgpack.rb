# frozen_string_literal: true

Gems.use "msgpack" do
  requires "msgpack", "stringio"
  setup do
    ITEM = Struct.new(:id)
    FACTORY = MessagePack::Factory.new.tap do |factory|
      factory.register_type(1, ITEM, packer: ->(item) { Hunt.nap && item.id },
                            unpacker: ->(text) { Hunt.nap && ITEM.new(text) })
    end
  end
  answer do |id|
    [MessagePack.unpack(MessagePack.pack({ "id" => id, "list" => [1, 2.5] })),
     FACTORY.load(FACTORY.dump(ITEM.new(id))).id]
  end
end
