# frozen_string_literal: true

# The first data of Redmine for the test, run by its own `rails runner`: an administrator and users
# who each manage a project.

ActionMailer::Base.perform_deliveries = false
Redmine::DefaultData::Loader.load("en")
{ "rest_api_enabled" => "1", "login_required" => "0", "default_language" => "en",
  "autologin" => "7", "text_formatting" => "common_mark" }
  .each { |name, value| Setting[name] = value }

# The names of its projects and users are of one length, as pages and PDF cut by it.
(10...(10 + Integer(ENV.fetch("NB_USERS"), 10))).each do |number|
  user = User.new(firstname: "User", lastname: number.to_s, mail: "user#{number}@example.net",
                  language: "en", mail_notification: "none")
  user.login = "user#{number}"
  user.password = user.password_confirmation = "secret#{number}"
  user.must_change_passwd = false
  user.save!
  Token.create!(user: user, action: "api")
  user.pref.update!(time_zone: "Etc/UTC")
  project = Project.create!(name: "Project #{number}", identifier: "project#{number}",
                            trackers: Tracker.all, is_public: false,
                            enabled_module_names: Redmine::AccessControl.available_project_modules)
  Member.create!(project: project, user: user, roles: [Role.find_by!(name: "Manager")])
  Wiki.find_or_create_by!(project: project, start_page: "Wiki")
end
load File.join(__dir__, "spread_keys.rb")
