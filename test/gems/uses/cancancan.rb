# frozen_string_literal: true

Gems.use "cancancan" do
  needs :postgresql
  requires "active_record", "cancancan"
  setup do
    Gems.records(owner: :string)
    class Ability
      include CanCan::Ability

      def initialize(user) = can(:read, Item, owner: user)
    end
  end
  answer do |id|
    Gems.undone do
      Item.create!(owner: id) && [Item.accessible_by(Ability.new(id)).count,
                                  Ability.new("x").can?(:read, Item.new(owner: id))]
    end
  end
end
