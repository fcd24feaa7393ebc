# frozen_string_literal: true

Gems.use "counter_culture" do
  needs :postgresql
  requires "active_record", "counter_culture"
  setup do
    Gems.records(shelf_id: :bigint)
    Gems.table(:shelves, name: :string, items_count: :integer)
    Shelf = Class.new(ActiveRecord::Base) { self.table_name = "shelves" }
    Item.belongs_to(:shelf, class_name: "Shelf")
    Item.counter_culture(:shelf)
  end
  answer do |id|
    Gems.undone do
      shelf = Shelf.create!(name: id, items_count: 0)
      2.times { Item.create!(name: id, shelf: shelf) && Hunt.nap }
      shelf.reload.items_count
    end
  end
end
