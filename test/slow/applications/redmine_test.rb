# frozen_string_literal: true

# Redmine, moved from Puma by docs/guides/moving.md, on PostgreSQL. The same visits on Puma and
# here: one after the other, then all users at once. Statuses, bodies, fields, cookies, rows and
# files are compared; support/alike.rb has the table of what may differ.
#
#   NB_REDMINE=PATH_OR_URL   its git repository; default: the public one
#   NB_USERS=8               at once

require "minitest/autorun"
require "open3"
require_relative "../../support/patience"
require_relative "../../support/services"
require_relative "support/alike"
require_relative "support/application"
require_relative "support/beside_puma"
require_relative "support/redmine_visit"
require_relative "support/rows"
require_relative "support/visitor"

class RedmineTest < Minitest::Test
  include BesidePuma

  TAG = "6.0.9"
  WORD = { "name" => "Redmine", "version" => TAG, "runs" => "Rails 7.2, PostgreSQL by pg",
           "visit" => "sign-in, issues, uploads by script and by form, downloads, archive, CSV " \
                      "import, wiki, news, boards, documents, settings, CSV, PDF and Atom, REST " \
                      "API, wrong and forbidden requests" }.freeze
  USERS = Integer(ENV.fetch("NB_USERS", "8"), 10)
  REPOSITORY = ENV.fetch("NB_REDMINE", "https://github.com/redmine/redmine.git")
  DATABASE = <<~YAML
    production:
      adapter: postgresql
      database: redmine
      host: 127.0.0.1
      port: <%= ENV.fetch("NB_PG_PORT", "5432") %>
      username: postgres
      encoding: utf8
  YAML

  class << self
    # @return [Application] with its first data in the database "seeded"
    # @raise [Application::Unavailable, Services::Unavailable]
    def application
      @application ||= begin
        env = { "NB_PG_PORT" => Services.postgresql.port.to_s, "NB_USERS" => USERS.to_s,
                "SECRET_KEY_BASE" => "0" * 64, "RAILS_SERVE_STATIC_FILES" => "1" }
        app = Application.new("redmine", repository: REPOSITORY, version: TAG, env: env)
        app.prepare { |folder| configure(folder) }
        app.once { app.run("bundle", "exec", "neverblock", "init") }
        seed(app)
        app
      end
    end

    def psql(command)
      url = Services.postgresql.url
      text, status = Open3.capture2e("psql", url, "-v", "ON_ERROR_STOP=1", "-Atc", command)
      raise text unless status.success?
    end

    private

    def configure(folder)
      File.write(File.join(folder, "config/database.yml"), DATABASE)
      # Its Puma is one of the tests only, without a config/puma.rb.
      gemfile = File.join(folder, "Gemfile")
      File.write(gemfile, File.read(gemfile).sub(/^  gem 'puma'$/, ""))
      File.write(File.join(folder, "Gemfile.local"), <<~RUBY)
        gem "puma", "6.6.0"
        gem "neverblock", path: ENV.fetch("NB_ROOT")
      RUBY
    end

    def seed(app)
      psql("CREATE DATABASE redmine")
      app.run("bundle", "exec", "rake", "db:migrate")
      app.run("bundle", "exec", "rails", "runner", File.join(__dir__, "inside/redmine_seed.rb"))
      psql("ALTER DATABASE redmine RENAME TO seeded")
    end
  end

  def test_one_user_after_another
    assert_alike { |url| visits(url, [10, 11], at_once: false) }
  end

  def test_all_users_at_once
    assert_alike { |url| visits(url, (10...(10 + USERS)).to_a, at_once: true) }
  end

  def test_two_workers
    assert_alike("-w", "2") { |url| visits(url, (10...(10 + USERS)).to_a, at_once: true) }
  end

  private

  def rules = RedmineVisit::RULES

  def first_data
    self.class.psql("DROP DATABASE IF EXISTS redmine")
    self.class.psql("CREATE DATABASE redmine TEMPLATE seeded")
    FileUtils.rm_rf(Dir.glob(File.join(@app.folder, "files/[0-9]*")))
  end

  def left_over(alike)
    { **Rows.of(@app, alike),
      files: Rows.of_files(File.join(@app.folder, "files"), alike) }
  end

  def visits(url, users, at_once:)
    in_turn(users, at_once) { |number| RedmineVisit.new(Visitor.new(url), number).call }
  end
end
