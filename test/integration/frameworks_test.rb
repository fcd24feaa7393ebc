# frozen_string_literal: true

# Small applications of each framework, with Sequel and one PostgreSQL behind them. 200 requests
# inside at once keep what is theirs in every place where libraries put it. They leave nothing for
# the next (test/support/app_state.rb).

require_relative "../support/gem_bundle"
require_relative "../support/server_process_case"
require_relative "../support/services"

module FrameworkTests
  AT_ONCE = 200
  PARTS = %w[local storage variable attribute store locale zone tags trace].freeze

  def self.included(test_class)
    test_class.extend(Server)
  end

  module Server
    def folder
      File.expand_path("frameworks", __dir__)
    end

    def server_options
      {
        options: ServerProcess.one_process("200 requests meet inside one process"),
        env: { "NB_TEST_DATABASE" => Services.postgresql.url, "RACK_ENV" => "production" }
      }
    end
  end

  def test_requests_that_run_at_once_keep_what_is_theirs_and_the_next_find_nothing
    clients = Array.new(AT_ONCE) { Wire::Client.open(server.url) }
    2.times do |wave|
      clients.rotate(wave * 7).each_with_index
        .map { |client, number| [client, (wave * 1000) + number] }
        .each { |client, me| client.get("/visit?me=#{me}&at_once=#{AT_ONCE}") }
        .each { |client, me| assert_own(me, client.response) }
    end
  ensure
    clients&.each(&:close)
  end

  def assert_own(me, response)
    state = parsed(response)
    assert_equal [me.to_s], response.all("x-me")
    assert_equal({ "me" => me, "row" => me, "framework" => [me] * 3 },
                 state.slice("me", "row", "framework"))
    assert_clean(state)
    assert_equal state["expected"], state["first"], "request #{me}, after it was parked"
    assert_equal state["expected"], state["second"], "request #{me}, after it was parked again"
  end

  def assert_clean(state)
    clean = {
      "local" => nil, "storage" => nil, "variable" => nil, "attribute" => nil, "store" => nil,
      "locale" => "en", "zone" => nil, "tags" => [], "trace" => nil
    }
    assert_equal clean, state["found"], "request #{state["me"]} found what another has left"
  end

  def test_requests_that_end_early_or_fail_leave_nothing
    connect do |client|
      3.times do |number|
        assert_equal 410, answer(client, "/halt?me=#{number}").status
        assert_clean parsed(answer(client, "/visit?me=7&at_once=1"))
        assert_equal 500, answer(client, "/fail?me=#{number}").status
        assert_clean parsed(answer(client, "/visit?me=8&at_once=1"))
      end
    end
  end

  def test_a_thread_variable_is_its_requests_own
    parsed(ask("/visit?me=41&at_once=1"))
    assert_nil parsed(ask("/visit?me=42&at_once=1"))["shared"]
  end

  def answer(client, target)
    client.get(target)
    client.response
  end
end

class SinatraTest < ServerProcessCase
  include FrameworkTests

  def self.app
    "require #{File.join(folder, "sinatra").inspect}\nrun SinatraVisits\n"
  end
end

class RodaTest < ServerProcessCase
  include FrameworkTests

  def self.app
    "require #{File.join(folder, "roda").inspect}\nrun RodaVisits.freeze.app\n"
  end
end

class GrapeTest < ServerProcessCase
  include FrameworkTests

  def self.app
    "require #{File.join(folder, "grape").inspect}\nrun GrapeVisits\n"
  end
end

class HanamiTest < ServerProcessCase
  include FrameworkTests

  BUNDLE = GemBundle.new(
    File.expand_path("../../gemfiles/hanami.gemfile", __dir__), "bundle-hanami"
  )

  def self.app
    "require #{File.join(folder, "hanami/config/app").inspect}\nHanami.boot\nrun Hanami.app\n"
  end

  def self.server_options
    options = super
    options.merge(
      env: options[:env].merge(
        BUNDLE.env, "RUBYOPT" => "-rbundler/setup", "HANAMI_ENV" => "production"
      )
    )
  end
end
