# frozen_string_literal: true

Gems.use "discard" do
  needs :postgresql
  requires "active_record", "discard"
  setup do
    Gems.records(discarded_at: :datetime)
    Item.include(Discard::Model)
  end
  answer do |id|
    Gems.undone do
      Item.create!(name: id).then do |item|
        [item.discard, Item.kept.where(name: id).count, item.undiscard]
      end
    end
  end
end
