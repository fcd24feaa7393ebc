# frozen_string_literal: true

Gems.use "alba" do
  requires "alba"
  setup do
    Person = Struct.new(:id, :name)
    class Shown
      include Alba::Resource

      attributes :id
      attribute(:name) { |person| Hunt.nap && person.name.upcase }
    end
  end
  answer { |id| Shown.new([Person.new(id, "a"), Person.new(id, "b")]).serialize }
end
