# frozen_string_literal: true

Gems.use "httparty" do
  requires "httparty"
  answer do |id|
    [HTTParty.get("#{Gems::URL}/v1/#{id}").parsed_response,
     HTTParty.post("#{Gems::URL}/#{id}", body: { a: id }).code]
  end
end
