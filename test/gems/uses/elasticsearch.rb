# frozen_string_literal: true

Gems.use "elasticsearch" do
  requires "elasticsearch"
  setup { SEARCH = Elasticsearch::Client.new(url: Gems::URL) }
  answer { |id| SEARCH.perform_request("GET", "v1/#{id}").body }
end
