# frozen_string_literal: true

Gems.use "friendly_id" do
  needs :postgresql
  requires "active_record", "friendly_id"
  setup do
    Gems.records(slug: :string)
    Item.extend(FriendlyId) && Item.friendly_id(:name, use: :slugged)
  end
  answer { |id|
    Gems.undone {
      Item.create!(name: "A #{id}").then { |item|
        [item.slug, Item.friendly.find("a-#{id}").name,
         Item.create!(name: "A #{id}").slug.start_with?("a-#{id}-")]
      }
    }
  }
end
