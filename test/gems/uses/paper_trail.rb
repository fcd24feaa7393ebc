# frozen_string_literal: true

Gems.use "paper_trail" do
  needs :postgresql
  requires "active_record", "paper_trail"
  setup do
    Gems.records(size: :integer)
    Gems.table(:versions, item_type: :string, item_id: :bigint, event: :string, whodunnit: :string,
               object: :text, created_at: :datetime)
    require "paper_trail/frameworks/active_record"
    Item.has_paper_trail
  end
  answer do |id|
    PaperTrail.request(whodunnit: id) do
      Gems.undone {
        Item.create!(name: id).tap { |item|
          Hunt.nap && item.update!(name: "#{id}!")
        }.versions.map { |version| [version.event, version.whodunnit] }
      }
    end
  end
end
