# frozen_string_literal: true

# Lobsters: Rails 8.0 on MariaDB by trilogy, cache and jobs on SQLite, pages kept as files. Moved
# from Puma by docs/guides/moving.md. The same visits on Puma and here. Statuses, bodies, fields,
# cookies, rows and kept pages are compared. Users come one after another, as the front page is
# everybody's.
#
#   NB_LOBSTERS=PATH_OR_URL   its git repository; default: the public one

require "minitest/autorun"
require "open3"
require_relative "../../support/patience"
require_relative "../../support/services"
require_relative "support/alike"
require_relative "support/application"
require_relative "support/beside_puma"
require_relative "support/lobsters_visit"
require_relative "support/rows"
require_relative "support/visitor"

class LobstersTest < Minitest::Test
  include BesidePuma

  # The last for Ruby 3.4.
  COMMIT = "b2ecc7d662360767e5b9215f942bab1ddd5575bc"
  WORD = { "name" => "Lobsters", "version" => COMMIT[0, 8],
           "runs" => "Rails 8.0, MariaDB by trilogy, Solid Cache and Solid Queue on SQLite",
           "visit" => "lists, feeds and JSON, kept pages, sign-in, stories, votes, comments, " \
                      "messages, filters, settings, search, wrong and forbidden requests" }.freeze
  USERS = 3
  REPOSITORY = ENV.fetch("NB_LOBSTERS", "https://github.com/lobsters/lobsters.git")
  DATABASE = <<~YAML
    production:
      primary:
        adapter: trilogy
        encoding: utf8mb4
        host: 127.0.0.1
        port: <%= ENV.fetch("NB_MARIADB_PORT", "3306") %>
        username: root
        pool: 5
        database: lobsters
      cache:
        adapter: sqlite3
        timeout: 1000
        database: storage/cache.sqlite3
        migrations_paths: db/cache_migrate
      queue:
        adapter: sqlite3
        timeout: 1000
        database: storage/queue.sqlite3
        migrations_paths: db/queue_migrate
  YAML

  class << self
    # @return [Application] with its first data in "storage.first" and {.first}
    def application
      @application ||= begin
        app = Application.new("lobsters", repository: REPOSITORY, version: COMMIT, ruby: "3.4",
                                          env: environment)
        app.prepare { |folder| configure(folder) }
        app.once { moved(app) }
        seed(app)
        app
      end
    end

    # @return [String] the rows of the first data as SQL
    attr_reader :first

    def mariadb(program, *arguments, input: "")
      text, error, status = Open3.capture3(program, "--no-defaults", "-uroot", "--protocol=tcp",
                                           "-h127.0.0.1", "-P#{Services.mariadb.port}",
                                           *arguments, stdin_data: input)
      raise error unless status.success?

      text
    end

    private

    def environment
      { "NB_MARIADB_PORT" => Services.mariadb.port.to_s, "NB_USERS" => USERS.to_s,
        "SECRET_KEY_BASE" => "0" * 64, "RAILS_SERVE_STATIC_FILES" => "1", "PUMA_WORKERS" => "0",
        "PIDFILE" => "tmp/test.pid", "RAILS_LOG_LEVEL" => "warn",
        "DISABLE_DATABASE_ENVIRONMENT_CHECK" => "1" }
    end

    def configure(folder)
      File.write(File.join(folder, "config/database.yml"), DATABASE)
      FileUtils.mkdir_p(%w[log tmp/pids storage].map { |name| File.join(folder, name) })
      File.write(File.join(folder, ".ruby-version"), "#{RUBY_VERSION}\n")
      gemfile = File.join(folder, "Gemfile")
      return if File.read(gemfile).include?("neverblock")

      File.write(gemfile, "\ngem \"neverblock\", path: ENV.fetch(\"NB_ROOT\")\n", mode: "a")
    end

    def moved(app)
      app.run("bundle", "exec", "rake", "assets:precompile")
      app.run("bundle", "exec", "neverblock", "init")
    end

    def seed(app)
      storage = File.join(app.folder, "storage")
      FileUtils.rm_rf([storage, "#{storage}.first"])
      FileUtils.mkdir_p(storage)
      mariadb("mariadb", "-e", "CREATE DATABASE lobsters CHARACTER SET utf8mb4")
      app.run("bundle", "exec", "rails", "db:schema:load")
      app.run("bundle", "exec", "rails", "runner", File.join(__dir__, "inside/lobsters_seed.rb"))
      @first = mariadb("mariadb-dump", "--databases", "lobsters", "--add-drop-database")
      FileUtils.mv(storage, "#{storage}.first")
    end
  end

  def test_one_user_after_another
    assert_alike { |url| visits(url) }
  end

  def test_two_workers
    assert_alike("-w", "2") { |url| visits(url) }
  end

  private

  def rules = LobstersVisit::RULES

  def first_data
    self.class.mariadb("mariadb", input: self.class.first)
    storage = File.join(@app.folder, "storage")
    FileUtils.rm_rf([storage, File.join(@app.folder, "public/cache"),
                     File.join(@app.folder, "tmp/cache")])
    FileUtils.cp_r("#{storage}.first", storage)
  end

  def left_over(alike)
    kept = Dir.glob("public/cache/**/*.html", base: @app.folder).sort
    { **Rows.of(@app, alike).reject { |table, _| table.start_with?("cache ") },
      kept: kept.map { |file| alike.text(file) }.sort }
  end

  def visits(url)
    in_turn((10...(10 + USERS)).to_a, false) do |number|
      LobstersVisit.new(Visitor.new(url), number).call
    end
  end
end
