# frozen_string_literal: true

# The first data of Campfire for the test, run by its own `rails runner`: an administrator, a room
# for all, and users who each have a room of their own, all administrators.

User.transaction do
  admin = FirstRun.create!(name: "Admin", email_address: "admin@example.net", password: "secret")
  Account.first.update!(join_code: "aaaa-bbbb-cccc")
  User.create_bot!(name: "Robot").update!(bot_token: "aaaabbbbcccc")
  (10...(10 + Integer(ENV.fetch("NB_USERS"), 10))).each do |number|
    user = User.create!(name: "User #{number}", email_address: "user#{number}@example.net",
                        password: "secret#{number}", role: :administrator)
    Rooms::Closed.create_for({ name: "Room #{number}", creator: admin }, users: [user])
  end
  # Times that pages sort by differ.
  Room.order(:id).each_with_index { |room, at| room.update_columns(created_at: at.minutes.ago) }
end
load File.join(__dir__, "spread_keys.rb")
