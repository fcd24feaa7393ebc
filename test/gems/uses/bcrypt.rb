# frozen_string_literal: true

Gems.use "bcrypt" do
  requires "bcrypt"
  answer do |id|
    BCrypt::Password.create(id, cost: 5).then { |hash| [hash == id, hash == "other", hash.cost] }
  end
end
