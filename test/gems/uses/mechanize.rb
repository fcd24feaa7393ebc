# frozen_string_literal: true

Gems.use "mechanize" do
  requires "mechanize"
  answer do |id|
    agent = Mechanize.new
    pages = [agent.get("#{Gems::URL}/#{id}"), agent.get("#{Gems::URL}/next-#{id}"), agent.back]
    [pages.first(2).map(&:body), agent.history.size].tap { agent.shutdown }
  end
end
