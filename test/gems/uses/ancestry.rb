# frozen_string_literal: true

Gems.use "ancestry" do
  needs :postgresql
  requires "active_record", "ancestry"
  setup do
    Gems.records(ancestry: :string)
    Item.has_ancestry
  end
  answer { |id|
    Gems.undone {
      Item.create!(name: id).then { |root|
        root.children.create!(name: "child").then { |child|
          [child.root.name, root.descendants.count, child.ancestors.map(&:name)]
        }
      }
    }
  }
end
