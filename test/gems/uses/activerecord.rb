# frozen_string_literal: true

Gems.use "activerecord" do
  needs :postgresql
  requires "active_record"
  setup { Gems.records(size: :integer) }
  answer { |id|
    Gems.undone {
      Item.insert_all!(Array.new(4) { |n|
        { name: "#{id}-#{n}", size: n }
      }) && [Item.where("name like ?", "#{id}-%").find_each.next.name,
             Item.where("name like ?", "#{id}-%").sum(:size)]
    }
  }
end
