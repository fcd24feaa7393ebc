# frozen_string_literal: true

Gems.use "kaminari" do
  needs :postgresql
  requires "active_record", "kaminari/core", "kaminari/activerecord"
  setup do
    Gems.records()
    Item.include(Kaminari::ActiveRecordModelExtension)
  end
  answer { |id|
    Gems.undone {
      Item.insert_all!(Array.new(7) { |n| { name: "#{id}-#{n}" } }) &&
        Item.where("name like ?", "#{id}-%").order(:name).page(2).per(3).then { |page|
          [page.map(&:name), page.total_pages, page.next_page]
        }
    }
  }
end
