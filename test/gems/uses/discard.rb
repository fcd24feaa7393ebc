# frozen_string_literal: true

Gems.use "discard" do
  needs :postgresql
  requires "active_record", "discard"
  setup do
    Gems.records(discarded_at: :datetime)
    Item.include(Discard::Model)
  end
  answer { |id| Gems.undone { Item.create!(name: id).then { |item| [item.discard, Item.kept.where(name: id).count, item.undiscard] } } }
end
