# frozen_string_literal: true

Gems.use "ransack" do
  needs :postgresql
  requires "active_record", "ransack"
  setup do
    Gems.records(size: :integer)
    Item.define_singleton_method(:ransackable_attributes) { |_ = nil| %w[name size] }
  end
  answer { |id|
    Gems.undone {
      Item.insert_all!(Array.new(5) { |n|
        { name: "#{id}-#{n}", size: n }
      }) && Item.ransack(name_start: "#{id}-", size_gt: 2, s: "size desc").result.map(&:name)
    }
  }
end
