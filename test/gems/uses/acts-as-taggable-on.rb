# frozen_string_literal: true

Gems.use "acts-as-taggable-on" do
  needs :postgresql
  requires "active_record", "acts-as-taggable-on"
  setup do
    Gems.records()
    Gems.table(:tags, name: :string, taggings_count: :integer)
    Gems.table(:taggings, tag_id: :bigint, taggable_type: :string, taggable_id: :bigint,
               tagger_type: :string, tagger_id: :bigint, context: :string, tenant: :string,
               created_at: :datetime)
    ActiveRecord::Base.connection.change_column_default(:tags, :taggings_count, 0)
    Item.acts_as_taggable_on(:tags)
  end
  answer do |id|
    Gems.undone do
      Item.create!(name: id, tag_list: ["t-#{id}"]).then do |item|
        [item.reload.tag_list, Item.tagged_with("t-#{id}").count]
      end
    end
  end
end
