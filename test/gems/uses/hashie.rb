# frozen_string_literal: true

Gems.use "hashie" do
  requires "hashie"
  answer { |id| Hashie::Mash.new(user: { id: id }).then { |mash| [mash.user.id, mash.dig("user", "id"), mash.other?] } }
end
