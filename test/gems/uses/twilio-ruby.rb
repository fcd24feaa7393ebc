# frozen_string_literal: true

Gems.use "twilio-ruby" do
  requires "twilio-ruby"
  answer do |id|
    client = Twilio::REST::Client.new("AC1", "token", nil, nil,
                                      Twilio::HTTP::Client.new(timeout: 30))
    client.request("http://127.0.0.1", Hunt::SERVICE, "GET", "#{Gems::URL}/v1/#{id}").body
  end
end
