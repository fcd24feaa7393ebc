# frozen_string_literal: true

require_relative "../support/library"

# A schema whose field is loaded in a batch by a source that waits for the service.
module GraphqlCalls
  # Defined when the library is there.
  def schemas
    @schemas ||= { blocking: {}, nonblocking: { nonblocking: true }, async: nil }
                 .transform_values { |options| schema(options) }
  end

  def schema(options)
    query = query_type
    Class.new(::GraphQL::Schema) do
      query(query)
      options ? use(::GraphQL::Dataloader, **options) : use(::GraphQL::Dataloader::AsyncDataloader)
    end
  end

  def query_type
    source = source_type
    Class.new(::GraphQL::Schema::Object) do
      graphql_name "Query"
      field :page, String do
        argument :url, String
      end
      define_method(:page) { |url:| dataloader.with(source).load(url) }
    end
  end

  def source_type
    Class.new(::GraphQL::Dataloader::Source) do
      define_method(:fetch) { |urls| urls.map { |url| Net::HTTP.get(URI(url)) } }
    end
  end

  def pages(kind, count)
    name = "graphql-#{token}"
    each_its_own(count) do |mine|
      answer = schemas.fetch(kind).execute("query($url: String!) { page(url: $url) }",
                                           variables: { url: url(gate_path(name, count, mine)) })
      answer.to_h.dig("data", "page") || answer.to_h.inspect
    end
  end
end

Clients.library("graphql", GraphqlCalls) do
  requires "async", "graphql"

  check(:blocking,
        "20 queries by GraphQL::Dataloader, whose fibers are blocking, inside at once") do
    while_ticking(at_least: 1) { pages(:blocking, 20) }
  end
  check(:nonblocking, "20 with `nonblocking: true`, which runs the scheduler inside a fiber") do
    while_ticking(at_least: 1) { pages(:nonblocking, 20) }
  end
  check(:async, "20 by GraphQL::Dataloader::AsyncDataloader") do
    while_ticking(at_least: 1) { pages(:async, 20) }
  end
end
