# frozen_string_literal: true

Gems.use "interactor" do
  requires "interactor"
  setup do
    class Step
      include Interactor

      def call = Hunt.nap && context.seen = "#{context.id}!"
    end

    class All
      include Interactor::Organizer

      organize Step, Step
    end
  end
  answer { |id| All.call(id: id).then { |context| [context.success?, context.seen] } }
end
