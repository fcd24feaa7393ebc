# frozen_string_literal: true

Gems.use "excon" do
  requires "excon"
  setup { KEPT = Excon.new(Gems::URL, persistent: true) }
  answer { |id| [Excon.get("#{Gems::URL}/#{id}").body, KEPT.get(path: "/kept-#{id}").body] }
end
