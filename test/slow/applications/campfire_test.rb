# frozen_string_literal: true

# Campfire: Rails 8.1, ActionCable and cache on Redis, SQLite. Moved from Puma by
# docs/guides/moving.md. The same visits on Puma and here: one after the other, then all users at
# once. Statuses, bodies, fields, cookies, what comes over WebSockets, rows and files are compared.
#
#   NB_CAMPFIRE=PATH_OR_URL   its git repository; default: the public one
#   NB_USERS=8                at once

require "minitest/autorun"
require "redis"
require "securerandom"
require_relative "../../support/patience"
require_relative "../../support/services"
require_relative "support/alike"
require_relative "support/application"
require_relative "support/beside_puma"
require_relative "support/cable"
require_relative "support/campfire_visit"
require_relative "support/rows"
require_relative "support/visitor"

class CampfireTest < Minitest::Test
  include BesidePuma

  COMMIT = "c6ea9fda4caaab4c12f4c815397098c37395c711"
  WORD = { "name" => "Campfire", "version" => COMMIT[0, 8],
           "runs" => "Rails 8.1, ActionCable on Redis, SQLite",
           "visit" => "sign-in and its limit, messages over Turbo streams, presence and typing " \
                      "over WebSockets, boosts, uploads by ActiveStorage, rooms, search, bots, " \
                      "account, wrong and forbidden requests and WebSockets" }.freeze
  USERS = Integer(ENV.fetch("NB_USERS", "8"), 10)
  REPOSITORY = ENV.fetch("NB_CAMPFIRE", "https://github.com/basecamp/once-campfire.git")
  # Its gems that come from branches, as they were released.
  RELEASED = { "rails" => "8.1.4", "propshaft" => "1.3.2", "importmap-rails" => "2.2.3",
               "turbo-rails" => "2.0.23" }.freeze

  class << self
    # @return [Application] with its first data in the folder "storage.first"
    def application
      @application ||= begin
        app = Application.new("campfire", repository: REPOSITORY, version: COMMIT, ruby: "3.4",
                                          env: environment, address: true)
        app.prepare { |folder| configure(folder) }
        app.once { moved(app) }
        seed(app)
        app
      end
    end

    private

    def environment
      { "REDIS_URL" => Services.redis.url, "NB_USERS" => USERS.to_s, "DISABLE_SSL" => "1",
        "SECRET_KEY_BASE" => "0" * 64, "SKIP_TELEMETRY" => "1", "RAILS_LOG_LEVEL" => "warn",
        "WEB_CONCURRENCY" => "1", "PORT" => "0", "PIDFILE" => "tmp/pids/test.pid" }
    end

    def configure(folder)
      gemfile = File.join(folder, "Gemfile")
      text = File.read(gemfile)
      RELEASED.each do |name, version|
        text.sub!(/^gem "#{name}".*/, "gem \"#{name}\", \"#{version}\"")
      end
      text << "\ngem \"neverblock\", path: ENV.fetch(\"NB_ROOT\")\n" unless text[/neverblock/]
      File.write(gemfile, text)
      FileUtils.rm_f(File.join(folder, "Gemfile.lock"))
      cable = File.join(folder, "config/cable.yml")
      File.write(cable, File.read(cable).sub("redis://localhost:6379", '<%= ENV["REDIS_URL"] %>'))
      File.write(File.join(folder, "config/initializers/zz_redis.rb"), <<~RUBY)
        Resque.redis = Redis.new(url: ENV.fetch("REDIS_URL"))
      RUBY
    end

    def moved(app)
      app.run("bundle", "exec", "rake", "assets:precompile")
      app.run("bundle", "exec", "neverblock", "init")
    end

    def seed(app)
      storage = File.join(app.folder, "storage")
      FileUtils.rm_rf([storage, "#{storage}.first"])
      FileUtils.mkdir_p(storage)
      app.run("bundle", "exec", "rails", "db:prepare")
      app.run("bundle", "exec", "rails", "runner", File.join(__dir__, "inside/campfire_seed.rb"))
      FileUtils.mv(storage, "#{storage}.first")
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

  def rules = CampfireVisit::RULES

  def first_data
    storage = File.join(@app.folder, "storage")
    FileUtils.rm_rf(storage)
    FileUtils.cp_r("#{storage}.first", storage)
    ::Redis.new(url: Services.redis.url).tap(&:flushall).close
  end

  def left_over(alike)
    rows = Rows.of(@app, alike).reject { |table, _| table.include?("message_search_index") }
    { **rows, files: Rows.of_files(File.join(@app.folder, "storage/files"), alike) }
  end

  def visits(url, users, at_once:)
    in_turn(users, at_once) do |number|
      visitor = Visitor.new(url, CampfireVisit.headers(number))
      CampfireVisit.new(visitor, number, alone: !at_once).call
    end
  end
end
