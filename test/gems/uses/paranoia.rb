# frozen_string_literal: true

Gems.use "paranoia" do
  needs :postgresql
  requires "active_record", "paranoia"
  setup do
    Gems.records(deleted_at: :datetime)
    Item.acts_as_paranoid
  end
  answer do |id|
    Gems.undone do
      item = Item.create!(name: id).tap(&:destroy)
      Hunt.nap
      [Item.where(name: id).count, Item.with_deleted.where(name: id).count,
       item.restore.deleted_at.inspect]
    end
  end
end
