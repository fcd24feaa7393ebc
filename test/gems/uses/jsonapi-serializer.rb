# frozen_string_literal: true

Gems.use "jsonapi-serializer" do
  requires "active_support/all", "jsonapi/serializer"
  setup do
    Person = Struct.new(:id, :name)
    class PersonSerializer
      include JSONAPI::Serializer

      attribute(:name) { |person| Hunt.nap && person.name.upcase }
    end
  end
  answer { |id| PersonSerializer.new(Person.new(id, "a")).serializable_hash.to_json }
end
