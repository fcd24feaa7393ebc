# frozen_string_literal: true

Gems.use "closure_tree" do
  needs :postgresql
  requires "active_record", "closure_tree"
  setup do
    Gems.records(parent_id: :bigint)
    Gems.table(:item_hierarchies, id: false, ancestor_id: :bigint, descendant_id: :bigint,
                                  generations: :integer)
    Item.has_closure_tree
  end
  answer do |id|
    Gems.undone do
      root = Item.create!(name: id)
      child = root.add_child(Item.new(name: "child"))
      Hunt.nap
      [child.root.name, root.descendants.count, Item.find_or_create_by_path([id, "new"]).depth]
    end
  end
end
