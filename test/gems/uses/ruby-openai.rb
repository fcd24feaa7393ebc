# frozen_string_literal: true

Gems.use "ruby-openai" do
  requires "openai"
  setup { OPENAI = OpenAI::Client.new(access_token: "x", uri_base: "#{Gems::URL}/v1/") }
  answer { |id| OPENAI.models.retrieve(id: id) }
end
