# frozen_string_literal: true

Gems.use "active_model_serializers" do
  requires "active_support/all", "active_model", "active_model_serializers"
  setup do
    ActiveModelSerializers.logger = Logger.new(File::NULL)
    class Person
      include ActiveModel::Serialization

      attr_accessor :id, :name

      def self.model_name = ActiveModel::Name.new(self)
      def initialize(id) = (@id, @name = id, "a")
      def read_attribute_for_serialization(name) = Hunt.nap && public_send(name)
    end

    class PersonSerializer < ActiveModel::Serializer
      attributes :id, :name
    end
  end
  answer do |id|
    ActiveModelSerializers::SerializableResource.new(Person.new(id), serializer: PersonSerializer,
                                                     adapter: :attributes).to_json
  end
end
