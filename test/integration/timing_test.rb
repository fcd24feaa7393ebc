# frozen_string_literal: true

# Where a request's time went, as a client finds it in Server-Timing and an operator in the log: a
# real database, another service, a lock that another request holds. With workers it is the same.

require "json"
require "pg"
require_relative "../support/http_client"
require_relative "../support/patience"
require_relative "../support/server_process_case"
require_relative "../support/services"

class TimingCase < ServerProcessCase
  SECRET = "a secret that only this test has".tr(" ", "-")
  KEY = 3_636

  class << self
    def options
      []
    end

    # Each path waits until the test lets it go.
    def app
      <<~RACKUP
        require "net/http"
        require "pg"
        LOCK = Thread::Mutex.new
        GATES = Hash.new { |gates, tag| gates[tag] = Thread::Queue.new }
        database = { host: "127.0.0.1", port: #{Services.postgresql.port}, user: "postgres" }
        run ->(env) {
          _, kind, tag = env["PATH_INFO"].split("/")
          case kind
          when "query"
            connection = PG.connect(**database, dbname: "postgres")
            connection.exec("SELECT pg_advisory_xact_lock(#{KEY})")
            connection.close
          when "together"
            NB.all(*Array.new(3) { -> { Net::HTTP.get(URI("http://127.0.0.1:\#{tag}/")) } })
          when "service" then Net::HTTP.get(URI("http://127.0.0.1:\#{tag}/"))
          when "locked" then LOCK.synchronize { 1 }
          when "holder" then LOCK.synchronize { GATES[tag].pop }
          when "release" then GATES[tag] << :go
          end
          [200, {}, ["done"]]
        }
      RACKUP
    end

    def server_options
      { options: ["--admin", "http://127.0.0.1:0", "--log-requests", "--log-format", "json",
                  *options],
        env: { "NEVERBLOCK_SERVER_TIMING" => SECRET } }
    end
  end

  def setup
    skip "Server-Timing is NeverBlock's" unless neverblock?
  end

  private

  # The field of the response, name => milliseconds.
  def timing(response)
    field = response.fields.find { |name, _| name == "server-timing" }
    field.last.split(", ").to_h { |entry| [entry[/\A[^;]+/], entry[/;dur=([\d.]+)/, 1].to_f] }
  end

  def request_asking(path)
    "GET #{path} HTTP/1.1\r\nHost: test\r\nX-Server-Timing: #{SECRET}\r\n\r\n"
  end

  def document(page)
    JSON.parse(HTTPClient.get(URI("#{server.admin_url}/#{page}")))
  end

  # So many fibers of this request wait for the kind.
  def await_waits(path, kind, count = 1, &condition)
    Patience.await("#{path} waits for #{kind}") do
      found = document("fibers.json").fetch("fibers").select { |fiber| fiber["path"] == path }
      found.select!(&condition) if condition
      found.count { |fiber| fiber.dig("waits_for", "kind") == kind } == count
    end
  end

  # The request among the slowest.
  def slow(path)
    found = nil
    Patience.await("#{path} is among the slowest") do
      requests = document("slowest.json?limit=128").fetch("requests")
      found = requests.find { |request| request["path"] == path }
    end
    found
  end

  def entry(path)
    found = nil
    Patience.await("an entry of #{path}") do
      lines = server.stderr.lines.filter_map { |line| JSON.parse(line) if line.include?(path) }
      found = lines.find { |line| line["target"] == path }
    end
    found
  end

  # Both say the same of the waits, and the parts do not exceed the whole.
  def assert_told(path, time, kind)
    entry = entry(path)
    assert_operator time.fetch("wait-#{kind}"), :>, 0
    assert_operator time.select { |name, _| name.start_with?("wait-") }.values.sum,
                    :<=, time.fetch("run") + 0.05
    assert_in_delta time.fetch("wait-#{kind}"), entry.fetch("wait_ms").fetch(kind), 0.002
    assert_operator entry.fetch("wait_ms").values.sum, :<=, entry.fetch("duration_ms") + 1
    assert_operator entry.fetch("waits").fetch(kind), :>=, 1
  end

  def assert_query(request)
    waits = request.fetch("waterfall").select { |wait| wait["kind"] == "database" }
    assert_equal request.dig("waits", "database"), waits.size
    assert_equal ["pg 127.0.0.1:#{Services.postgresql.port}"], waits.map { |wait|
      wait["what"]
    }.uniq
    longest = waits.max_by { |wait| wait["for_s"] }
    line = self.class.app.lines.index { |text| text.include?("pg_advisory_xact_lock") } + 1
    assert_match(/:#{line}\z/, longest.fetch("line"))
    assert_operator longest["for_s"], :>=, 0.1
    assert_operator longest["start_s"] + longest["for_s"], :<=, request["run_s"]
    assert_in_delta waits.sum { |wait| wait["for_s"] }, request.dig("wait_s", "database"), 0.000_001
    assert_equal 200, request["status"]
  end

  # A service of which a request asks: it answers when all fibers of the request wait for it.
  def service(kind, count)
    TCPServer.open("127.0.0.1", 0) do |listener|
      path = "/#{kind}/#{listener.local_address.ip_port}"
      connect do |client|
        client.write(request_asking(path))
        waiting = Array.new(count) { listener.accept }
        await_waits(path, "http", count)
        waiting.each { |socket| answer(socket) }
        yield path, timing(client.response)
      end
    end
  end

  def answer(socket)
    nil until socket.gets == "\r\n"
    socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
    socket.close
  end

  module Cases
    # An executor that runs something else traces fibers that have waited for a tenth of a second.
    def test_a_query_is_a_wait_for_the_database
      path = "/query/#{new_tag}"
      keeper = PG.connect(host: "127.0.0.1", port: Services.postgresql.port, user: "postgres",
                          dbname: "postgres")
      keeper.exec("SELECT pg_advisory_lock(#{KEY})")
      connect do |client|
        client.write(request_asking(path))
        await_waits(path, "database") { |fiber| fiber["line"] || !ask("/plain/wake") }
        keeper.exec("SELECT pg_advisory_unlock(#{KEY})")
        assert_told(path, timing(client.response), "database")
      end
      assert_query(slow(path))
    ensure
      keeper&.close
    end

    def test_another_service_is_a_wait_for_http
      service("service", 1) { |path, time| assert_told(path, time, "http") }
    end

    def test_what_is_asked_together_is_one_wait_for_fibers
      service("together", 3) do |path, time|
        assert_told(path, time, "fibers")
        refute_includes time, "wait-http"
        kinds = slow(path).fetch("waterfall").map { |wait| wait.values_at("kind", "fiber") }
        assert_operator kinds.count(["fibers", nil]), :>=, 1
        assert_operator kinds.count(%w[http helper]), :>=, 3
      end
    end

    def test_who_does_not_know_the_secret_is_told_nothing
      response = ask("/plain/#{new_tag}", "X-Server-Timing: true")
      refute(response.fields.any? { |name, _| name == "server-timing" })
    end
  end
end

class TimingTest < TimingCase
  include TimingCase::Cases

  def test_the_slowest_of_a_class_are_kept_and_no_more
    10.times { |number| ask("/quick/#{number}", "X-Request-Id: quick-#{number}") }
    requests = nil
    Patience.await("all are kept") do
      requests = document("slowest.json?limit=128").fetch("requests")
      requests.count { |request| request["class"] == "/quick/0" } == 4
    end
    assert_equal requests.map { |request| -request["duration_s"] }.sort,
                 (requests.map { |request| -request["duration_s"] })
    request = requests.find { |one| one["class"] == "/quick/0" }
    assert_equal "/quick/#{request["id"].delete_prefix("quick-")}", request["path"]
    assert_in_delta request["duration_s"], request["queue_s"] + request["run_s"], 0.000_01
    assert_empty request["waterfall"]
  end

  def test_the_trace_of_a_slow_request_is_told
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    ask("/plain/traced", "traceparent: 00-#{trace}-00f067aa0ba902b7-01")
    assert_equal trace, slow("/plain/traced")["trace_id"]
  end

  def test_a_lock_is_a_wait_for_it
    tag = new_tag
    path = "/locked/#{tag}"
    connect do |holder|
      holder.write(request("/holder/#{tag}"))
      await_waits("/holder/#{tag}", "queue")
      connect do |client|
        client.write(request_asking(path))
        await_waits(path, "lock")
        ask("/release/#{tag}")
        assert_told(path, timing(client.response), "lock")
      end
    end
  end
end

class TimingOfWorkersTest < TimingCase
  include TimingCase::Cases

  def self.options
    ["-w", "2"]
  end
end
