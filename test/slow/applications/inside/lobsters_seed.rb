# frozen_string_literal: true

# The first data of Lobsters for the test, run by its own `rails runner`: users, tags, and stories
# with comments.

ActionMailer::Base.perform_deliveries = false
long_ago = 200.days.ago
make = lambda do |name, more = {}|
  User.create!(username: name, email: "#{name}@example.net", password: "secret-#{name}",
               password_confirmation: "secret-#{name}", karma: 100, created_at: long_ago, **more)
end
make["inactive-user"]
admin = make["alice", { is_admin: true, is_moderator: true }]
users = (10...(10 + Integer(ENV.fetch("NB_USERS"), 10))).map do |number|
  make["user#{number}", { invited_by_user: admin }]
end
category = Category.create!(category: "Computers")
tags = %w[ruby c web].map { |name| Tag.create!(category: category, tag: name, description: name) }
stories = 30.times.map do |at|
  Story.create!(user: users[at % users.size], title: "Story number #{at} of many",
                url: "https://example.net/story/#{at}", tags: [tags[at % 3]],
                created_at: (90 - at).days.ago)
end
stories.last(10).each_with_index do |story, at|
  first = Comment.create!(story: story, user: users.last, comment: "A *comment* #{at}")
  Comment.create!(story: story, user: admin, comment: "An answer", parent_comment: first)
end
load File.join(__dir__, "spread_keys.rb")
