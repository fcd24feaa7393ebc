# frozen_string_literal: true

Gems.use "hashie" do
  requires "hashie"
  answer do |id|
    Hashie::Mash.new(user: { id: id }).then do |mash|
      [mash.user.id, mash.dig("user", "id"), mash.other?]
    end
  end
end
