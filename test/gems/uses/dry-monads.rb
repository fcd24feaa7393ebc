# frozen_string_literal: true

Gems.use "dry-monads" do
  requires "dry/monads"
  setup do
    class Steps
      include Dry::Monads[:result, :do]

      def call(id)
        (first = yield(step(id))) && (second = yield(step("#{first}!"))) && Success(second)
      end

      def step(text) = Hunt.nap && (text.sum % 5).zero? ? Failure(text) : Success(text)
    end
  end
  answer { |id| Steps.new.call(id).inspect }
end
