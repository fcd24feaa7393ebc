# frozen_string_literal: true

Gems.use "graphql" do
  requires "graphql"
  note "loads its constants at the first requests; on Ruby 3.1 nothing else of the process runs " \
       "meanwhile: GraphQL.eager_load! at boot"
  setup do
    class Texts < GraphQL::Dataloader::Source
      def fetch(keys) = Hunt.nap && keys.map { |key| "text #{key}" }
    end

    class Query < GraphQL::Schema::Object
      field(:text, String) { argument(:id, String) }
      def text(id:) = dataloader.with(Texts).load(id)
    end

    class Schema < GraphQL::Schema
      query(Query)
      use(GraphQL::Dataloader)
    end
  end
  answer do |id|
    Schema.execute("{ a: text(id: \"#{id}\") b: text(id: \"#{id}2\") }", context: { id: id }).to_h
  end
end
