# frozen_string_literal: true

Gems.use "pundit" do
  needs :postgresql
  requires "pundit"
  setup do
    Gems.records(owner: :string)
    class ItemPolicy
      def initialize(user, item) = (@user, @item = user, item)
      def show? = Hunt.nap && @user == @item.owner
    end
  end
  answer { |id|
    Gems.undone {
      Item.create!(owner: id).then { |item|
        [Pundit.authorize(id, item, :show?).owner, begin
          Pundit.authorize("x", item, :show?)
        rescue
          $!.class
        end]
      }
    }
  }
end
