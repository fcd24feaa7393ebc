# frozen_string_literal: true

# allowblock in production, where everything is loaded at the start: every request of such an action
# is on its lane, from the first one on and however its path is spelled.

require "json"
require "minitest/autorun"
require_relative "../support/gate"
require_relative "../support/http_client"
require_relative "../support/rails_application"

class RailsLanesTest < Minitest::Test
  NEVERBLOCK = [
    RbConfig.ruby, "-rbundler/setup", File.join(ServerProcess::ROOT, "exe/neverblock")
  ].freeze

  def self.application
    RailsApplication.instance
  end

  def setup
    write = {
      "config/neverblock.rb" => "bind #{Over.bind("http://127.0.0.1:0").inspect}\n" \
                                "environment \"production\"\n",
      "config/initializers/ssl.rb" => "Rails.application.config.force_ssl = false\n"
    }
    env = { "DATABASE_URL" => "sqlite3:storage/production.sqlite3" }
    @server = RailsServer.new(*NEVERBLOCK, application: self.class.application, write: write,
                                           env: env).start
  end

  def teardown
    @server&.stop(expect: nil)
  end

  def test_such_an_action_runs_one_at_a_time_on_its_lane_from_the_first_request_on
    Gate.open do |gate|
      asks = Array.new(3) { Thread.new { json("/modes/hold?port=#{gate.port}") } }
      answers = asks.map do
        inside = gate.arrival
        # Others go on meanwhile.
        refute_match(/\Anb-lane/, json("/modes/plain").fetch("thread"))
        inside.close
      end
      assert_equal 3, answers.size
      asks.map(&:value).each do |answer|
        assert_equal 1, answer.fetch("inside")
        assert_match(/\Anb-lane/, answer.fetch("thread"))
      end
    end
  end

  SPELLINGS = [
    "/exports/7", "/exports/7/", "//exports/7", "/exports//7.json", "/exports/#{"7" * 3_000}",
    "/exports//#{"7" * 3_000}", "/%C3%BCber/export", "/%c3%bcber//export"
  ].freeze

  def test_no_spelling_of_its_path_leaves_the_lane
    SPELLINGS.each do |path|
      response = @server.connect { |client| client.get(path) && client.response }
      assert_equal 200, response.status, path[0, 40]
      assert_match(/\Anb-lane/, JSON.parse(response.body).fetch("thread"), path[0, 40])
    end
  end

  private

  def json(path)
    uri = URI("#{@server.url}#{path}")
    answer = HTTPClient.open(uri, read_timeout: Patience::SECONDS) do |client|
      client.get(uri.request_uri)
    end
    assert_equal "200", answer.code,
                 "#{answer.body[0, 500]}\n#{@server.stderr}\n#{@server.log("production")}"
    JSON.parse(answer.body)
  end
end
