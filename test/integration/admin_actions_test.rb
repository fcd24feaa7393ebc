# frozen_string_literal: true

# What changes a server at its admin address, with the token: a request is cancelled, workers are
# reloaded, added and removed.

require "json"
require "net/http"
require_relative "../support/fibers_case"

class AdminActionsCase < FibersCase
  TOKEN = "0123456789abcdef-test"

  def self.server_options
    given = super
    { **given, env: { "NEVERBLOCK_ADMIN_TOKEN" => TOKEN } }
  end

  private

  # @return [Net::HTTPResponse]
  def act(path, token: TOKEN, method: Net::HTTP::Post)
    uri = URI("#{server.admin_url}#{path}")
    request = method.new(uri)
    request["Authorization"] = "Bearer #{token}" if token
    Net::HTTP.start(uri.host, uri.port) { |http| http.request(request) }
  end

  def assert_refused(status, words, response)
    assert_equal status, response.code.to_i
    assert_match words, response.body
  end

  def status
    JSON.parse(HTTPClient.get(URI("#{server.admin_url}/status.json")))
  end

  # Cancels a request that waits as its kind says.
  # @return [Wire::Response] what its client gets
  def cancelled(kind, tag = new_tag)
    connect do |held|
      held.write(request("/#{kind}/#{tag}"))
      fiber = found(kind, tag) { |one| one["state"] == "waiting" }
      assert_equal "202", act("/cancel?exchange=#{fiber.fetch("exchange")}").code
      held.response
    end
  end
end

class AdminActionsTest < AdminActionsCase
  %w[queue io http offload].each do |kind|
    define_method("test_a_request_that_waits_for_#{kind}_is_cancelled") do
      listener = TCPServer.new("127.0.0.1", 0) if kind == "http"
      tag = listener ? listener.addr[1].to_s : new_tag
      assert_equal 503, cancelled(kind, tag).status
      Patience.await("the log says so", -> { server.stderr }) do
        server.stderr.match?(%r{warning: GET /#{kind}/#{tag} .*cancelled at the admin address})
      end
    ensure
      listener&.close
    end
  end

  def test_its_ensure_blocks_run_and_locks_are_given_back
    assert_equal 503, cancelled("holder").status
    assert_equal "done", ask("/lock/#{new_tag}").body
  end

  def test_one_that_is_over_is_no_fault
    tag = new_tag
    exchange = nil
    under_way("queue", tag) do
      exchange = waiting("queue", tag, kind: "queue").fetch("exchange")
    end
    assert_equal "202", act("/cancel?exchange=#{exchange}").code
    assert_equal "done", ask("/").body
  end

  def test_what_is_wrong_is_said
    assert_refused 401, /not the server's admin_token/, act("/cancel?exchange=1", token: "x" * 21)
    assert_refused 401, /not the server's admin_token/, act("/cancel?exchange=1", token: nil)
    assert_refused 401, /not the server's/, act("/cancel?exchange=1", token: TOKEN[0...-1])
    assert_refused 405, /POST is/, act("/cancel?exchange=1", method: Net::HTTP::Get)
    ["/cancel", "/cancel?exchange=", "/cancel?exchange=1g", "/cancel?exchange=#{"1" * 17}"]
      .each { |path| assert_refused 400, %r{as in /cancel\?exchange=1a}, act(path) }
    assert_refused 400, /change is add or remove/, act("/workers?change=+1")
    assert_refused 501, /one process does not reload.*-w 2/, act("/reload")
    assert_equal ["cancel"], status["actions"]
  end
end

class AdminWithoutTokenTest < FibersCase
  def test_nobody_may_change_anything
    uri = URI("#{server.admin_url}/cancel?exchange=1")
    response = Net::HTTP.post(uri, "", "Authorization" => "Bearer ")
    assert_equal "403", response.code
    assert_match(/the server has no admin_token/, response.body)
  end
end

class AdminWorkersTest < AdminActionsCase
  def self.options
    %w[-w 2]
  end

  def test_workers_are_added_removed_and_replaced
    workers = -> { status["executors"].filter_map { |one| one["pid"] }.uniq.sort }
    before = workers.call
    done("/workers?change=add", /one worker more: done/)
    Patience.await("a third serves") { workers.call.size == 3 }
    done("/workers?change=remove", /one worker less: done/)
    Patience.await("two are left") { workers.call.size == 2 }
    done("/reload", /reload/)
    Patience.await("all are others") { workers.call.size == 2 && (workers.call & before).empty? }
  end

  def test_a_request_of_a_worker_is_cancelled
    assert_equal 503, cancelled("queue").status
  end

  private

  # Has a command done.
  def done(path, words)
    number = status.dig("last_action", "number").to_i
    assert_equal "202", act(path).code
    last = nil
    Patience.await("#{path} is done", -> { server.stderr }) do
      last = status["last_action"]
      last && last["number"] > number
    end
    assert last["ok"], last["words"]
    assert_match words, last["words"]
  end
end
