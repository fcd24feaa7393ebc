# frozen_string_literal: true

require_relative "../support/http_checks"

# An error is an answer of httpx, raised when asked.
module HttpxCalls
  def ask(session, url)
    session.get(url).tap(&:raise_for_status)
  end

  def session
    ::HTTPX.with(ssl: { ca_file: ca_file }, timeout: { request_timeout: 30 }, max_retries: 0)
  end

  def get(url)
    session.get(url).then do |response|
      response.error && !response.respond_to?(:status) ? raise(response.error) : response.to_s
    end
  end

  def get_within(url, seconds)
    ask(session.with(timeout: { request_timeout: seconds }), url).to_s
  end

  # Each caller takes a session from a pool, because fibers wait for each other on one persistent
  # session.
  def shared
    pool = ConnectionPool.new(size: 20, timeout: 20) { session.plugin(:persistent) }
    yield(->(url) {
      pool.with { |client| ask(client, url) }.then { |response| [response.to_s, response.headers] }
    })
  ensure
    pool.shutdown(&:close)
  end

  def timeout_errors
    [::HTTPX::TimeoutError]
  end

  def refused_errors
    [::HTTPX::ConnectionError, Errno::ECONNREFUSED]
  end

  def dropped_errors
    [::HTTPX::Error, EOFError, Errno::ECONNRESET]
  end
end

Clients.library("httpx", Clients::HttpChecks, HttpxCalls) do
  # httpx 1.9.0 uses Set without requiring it. Ruby loads it by itself from 3.2 on.
  requires "set", "connection_pool", "httpx"
  note "one session may be shared by all fibers; but one with `plugin(:persistent)` has one " \
       "HTTP/1.1 connection for an origin, on which fibers wait for each other " \
       "(the loop goes on): take a pool of such sessions"

  check(:session, "20 inside at once by one session that is not persistent") do
    one = session
    each_its_own(20) { |mine| ask(one, url(gate_path("session", 20, mine))).to_s }
  end

  check(:one_persistent, "20 fibers x 10 on one persistent session: one after another, " \
                         "none mixed, while others go on") do
    one = session.plugin(:persistent)
    while_ticking do
      fibers(20) do |index|
        10.times do |round|
          mine = "#{index}-#{round}-#{token}"
          same(mine, ask(one, url("/echo/#{mine}")).to_s)
        end
      end
    end
    one.close
    "200 requests"
  end
end
