# frozen_string_literal: true

Gems.use "dry-effects" do
  requires "dry/effects"
  setup do
    class Around
      include Dry::Effects::Handler.Reader(:user)

      def call(id) = with_user(id) { Inside.new.call }
    end

    class Inside
      include Dry::Effects.Reader(:user)

      def call = [user, Hunt.nap && user]
    end
  end
  answer { |id| Around.new.call(id) }
end
