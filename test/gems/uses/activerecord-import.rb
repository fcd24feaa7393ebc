# frozen_string_literal: true

Gems.use "activerecord-import" do
  needs :postgresql
  requires "active_record", "activerecord-import"
  setup do
    Gems.records(size: :integer)
    begin
      ActiveRecord::Import.require_adapter("postgresql")
    rescue
      nil
    end
  end
  answer { |id|
    Gems.undone {
      Item.import([:name, :size], Array.new(9) { |n|
        ["#{id}-#{n}", n]
      }, validate: true).then do |done|
        [done.ids.size, Item.where("name like ?", "#{id}-%").sum(:size)]
      end
    }
  }
end
