# frozen_string_literal: true

Gems.use "will_paginate" do
  needs :postgresql
  requires "active_record", "will_paginate", "will_paginate/active_record"
  setup do
    Gems.records()
  end
  answer { |id|
    Gems.undone {
      Item.insert_all!(Array.new(7) { |n| { name: "#{id}-#{n}" } })
      page = Item.where("name like ?", "#{id}-%").order(:name).paginate(page: 2, per_page: 3)
      [page.map(&:name), page.total_pages]
    }
  }
end
