# frozen_string_literal: true

Gems.use "acts-as-taggable-on" do
  needs :postgresql
  requires "active_record", "acts-as-taggable-on"
  setup do
    Gems.records()
    ActiveRecord::Schema.define do
      create_table(:tags, force: true) { |t| t.string(:name) && t.integer(:taggings_count, default: 0) }
      create_table(:taggings, force: true) { |t| t.bigint(:tag_id) && t.string(:taggable_type) && t.bigint(:taggable_id) && t.string(:tagger_type) && t.bigint(:tagger_id) && t.string(:context) && t.string(:tenant) && t.datetime(:created_at) }
    end
    Item.acts_as_taggable_on(:tags)
  end
  answer { |id| Gems.undone { Item.create!(name: id, tag_list: ["t-#{id}"]).then { |item| [item.reload.tag_list, Item.tagged_with("t-#{id}").count] } } }
end
