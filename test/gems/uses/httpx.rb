# frozen_string_literal: true

Gems.use "httpx" do
  requires "httpx"
  answer do |id|
    [HTTPX.get("#{Gems::URL}/#{id}").to_s,
     HTTPX.get("#{Gems::URL}/#{id}1", "#{Gems::URL}/#{id}2").map(&:to_s)]
  end
end
