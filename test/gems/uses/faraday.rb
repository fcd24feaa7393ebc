# frozen_string_literal: true

Gems.use "faraday" do
  requires "faraday"
  setup { HTTP_CLIENT = Faraday.new(url: Gems::URL) { |faraday| faraday.response(:json) } }
  answer { |id| [HTTP_CLIENT.get("/v1/#{id}").body, HTTP_CLIENT.post("/v1/#{id}", "a=1").status] }
end
