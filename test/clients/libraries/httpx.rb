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
    session.get(url).then { |response| response.error && !response.respond_to?(:status) ? raise(response.error) : response.to_s }
  end

  def get_within(url, seconds)
    ask(session.with(timeout: { request_timeout: seconds }), url).to_s
  end

  def shared
    session.plugin(:fiber_concurrency).plugin(:persistent).wrap do |client|
      yield(->(url) { ask(client, url).then { |response| [response.to_s, response.headers] } })
    end
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
  requires "set", "httpx" # httpx 1.9.0 uses Set without requiring it, which Ruby has by itself from 3.2
  note "one session that all fibers share needs `plugin(:fiber_concurrency)`, as its manual says"
end
