# frozen_string_literal: true

Gems.use "dry-validation" do
  requires "dry/validation"
  setup do
    class Contract < Dry::Validation::Contract
      params { required(:id).filled(:string) && required(:age).value(:integer) }
      rule(:age) { Hunt.nap && key.failure("too young") if value < 18 }
    end
    CONTRACT = Contract.new
  end
  answer do |id|
    CONTRACT.call(id: id, age: (id.sum % 40).to_s).then do |result|
      [result.to_h, result.errors.to_h]
    end
  end
end
