# frozen_string_literal: true

Gems.use "blueprinter" do
  requires "json", "blueprinter"
  setup do
    Person = Struct.new(:id, :name)
    class Shown < Blueprinter::Base
      identifier :id
      field(:name) { |person| Hunt.nap && person.name.upcase }
    end
  end
  answer { |id| Shown.render([Person.new(id, "a"), Person.new(id, "b")]) }
end
