# frozen_string_literal: true

# `bundle exec neverblock app.ru` typed in a checkout. The bundle has what applications bring, so an
# application that uses it runs. One server serves all paths; the databases are real.

require "minitest/autorun"
require_relative "../support/http_client"
require_relative "../support/server_process"
require_relative "../support/services"

class CheckoutBundleTest < Minitest::Test
  # As typed in the checkout: nothing of this process's own bundle is left.
  class BundleExec < ServerProcess
    # Of Bundler and of the Ruby that runs this.
    FOREIGN = /\A(?:BUNDLE|RUBYOPT|RUBYLIB|GEM_)/

    def initialize(app, env:)
      foreign = ENV.keys.grep(FOREIGN).to_h { |name| [name, nil] }
      super(app, env: foreign.merge({ "BUNDLE_GEMFILE" => File.join(ROOT, "Gemfile") }, env))
    end

    private

    def binds
      @binds.flat_map { |url| ["-b", Over.bind(url)] }
    end

    def words(rackup)
      ["bundle", "exec", "neverblock", rackup, *binds, *@options]
    end
  end

  APP = <<~'RUBY'
    %w[
      pg mysql2 trilogy sequel redis sqlite3 rails action_controller/railtie
    ].each { |name| require name }

    maria = {
      host: "127.0.0.1", port: ENV.fetch("MARIADB_PORT").to_i, username: "root", database: "test"
    }
    asked = "select 6 * 7 as answer"

    class AnswersController < ActionController::Base
      def show
        render plain: (6 * 7).to_s
      end
    end

    class Application < Rails::Application
      config.eager_load = true
      config.hosts.clear
      config.secret_key_base = "0" * 64
      config.logger = Logger.new(IO::NULL)
      routes.append { get "/rails", to: "answers#show" }
    end
    Rails.application.initialize!

    calls = {
      "/pg" => -> { PG.connect(ENV.fetch("POSTGRESQL_URL")).exec(asked).getvalue(0, 0) },
      "/mysql2" => -> { Mysql2::Client.new(**maria).query(asked).first.fetch("answer") },
      "/trilogy" => -> { Trilogy.new(**maria).query(asked).first.first },
      "/sequel" => -> do
        Sequel.connect(ENV.fetch("POSTGRESQL_URL")) { |database| database[asked].get(:answer) }
      end,
      "/redis" => -> { Redis.new(url: ENV.fetch("REDIS_URL")).echo("42") },
      "/sqlite3" => -> { SQLite3::Database.new(":memory:").get_first_value(asked) }
    }
    run ->(env) do
      call = calls[env["PATH_INFO"]]
      call ? [200, {}, [call.call.to_s]] : Rails.application.call(env)
    end
  RUBY

  def test_an_application_with_every_database_and_rails_runs_from_a_checkout
    env = {
      "POSTGRESQL_URL" => "#{Services.postgresql.url}?sslmode=disable",
      "MARIADB_PORT" => Services.mariadb.port.to_s,
      "REDIS_URL" => Services.redis.url
    }
    server = BundleExec.new(APP, env: env).start
    answers = %w[pg mysql2 trilogy sequel redis sqlite3 rails].to_h do |name|
      [name, HTTPClient.get(URI("#{server.url}/#{name}"))]
    end
    assert_equal ["42"], answers.values.uniq, answers
    assert_predicate server.stop, :success?
  rescue Services::Unavailable => e
    skip e.message
  ensure
    server&.kill
  end
end
