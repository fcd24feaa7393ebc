# frozen_string_literal: true

Gems.use "store_model" do
  needs :postgresql
  requires "active_record", "store_model"
  setup do
    Gems.records(settings: :jsonb)
    class Settings
      include StoreModel::Model

      attribute :color, :string
    end
    Item.attribute(:settings, Settings.to_type)
  end
  answer do |id|
    Gems.undone { Item.create!(name: id, settings: { color: id }).reload.settings.color }
  end
end
