# frozen_string_literal: true

Gems.use "paper_trail" do
  needs :postgresql
  requires "active_record", "paper_trail"
  setup do
    Gems.records(size: :integer)
    ActiveRecord::Schema.define { create_table(:versions, force: true) { |t| t.string(:item_type) && t.bigint(:item_id) && t.string(:event) && t.string(:whodunnit) && t.text(:object) && t.datetime(:created_at) } }
    require "paper_trail/frameworks/active_record"
    Item.has_paper_trail
  end
  answer do |id|
    PaperTrail.request(whodunnit: id) do
      Gems.undone { Item.create!(name: id).tap { |item| Hunt.nap && item.update!(name: "#{id}!") }.versions.map { |version| [version.event, version.whodunnit] } }
    end
  end
end
