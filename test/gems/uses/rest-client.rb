# frozen_string_literal: true

Gems.use "rest-client" do
  requires "rest-client"
  answer do |id|
    [RestClient.get("#{Gems::URL}/#{id}").body,
     RestClient.post("#{Gems::URL}/#{id}", { a: id }).code]
  end
end
