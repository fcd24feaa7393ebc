# frozen_string_literal: true

Gems.use "http" do
  requires "http"
  answer do |id|
    [HTTP.get("#{Gems::URL}/#{id}").to_s,
     HTTP.timeout(30).headers("X-A" => "1").get("#{Gems::URL}/v1/#{id}").parse]
  end
end
