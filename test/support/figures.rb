# frozen_string_literal: true

# A /status.json as the server writes it, and an address that serves it: for the tests of those who
# read it.

require "json"
require "socket"

module Figures
  LAG = {
    "count" => 10, "sum" => 0.001,
    "p50" => 0.00001, "p90" => 0.0001, "p99" => 0.0012, "max" => 0.002
  }.freeze
  HISTOGRAM = {
    "count" => 4000, "sum" => 8.0,
    "p50" => 0.00034, "p90" => 0.0021, "p99" => 0.0512, "max" => 1.25
  }.freeze
  EMPTY = {
    "count" => 0, "sum" => 0,
    "p50" => nil, "p90" => nil, "p99" => nil, "max" => nil
  }.freeze

  DOCUMENT = {
    "neverblock" => "2.0.9", "ruby" => "3.1.2", "pid" => 4711, "state" => "running",
    "started_at" => "2026-11-21T20:00:00Z", "uptime_s" => 7980.5,
    "binds" => ["http://127.0.0.1:9292", "unix:///run/app.sock"],
    "connections" => {
      "open" => 512, "idle" => 480, "reading" => 3, "answering" => 29, "limit" => 10_000,
      "accepted_total" => 12_345, "refused_total" => 1
    },
    "tls" => {
      "handshakes" => {
        "full" => 1_500, "resumed" => 300, "left" => 0, "plain" => 2, "client_unknown" => 1
      },
      "versions" => { "1.2" => 200, "1.3" => 1_600 },
      "certificates" => [
        { "address" => "https://0.0.0.0:443", "name" => "example.org", "key" => "EC",
          "expires_at" => "2026-12-21T20:00:00Z", "expires_in_s" => 2_606_400 },
        { "address" => "https://0.0.0.0:443", "name" => "example.org", "key" => "RSA",
          "expires_at" => "2026-11-20T20:00:00Z", "expires_in_s" => -86_400 }
      ]
    },
    "requests" => {
      "queued" => 2, "running" => 29, "writing" => 1, "total" => 1_234_567, "shed_total" => 4,
      "refused_total" => 6, "timed_out_total" => 8, "aborted_total" => 9, "lost_total" => 3,
      "errors_total" => 5,
      "by_class" => { "1xx" => 0, "2xx" => 1_234_000, "3xx" => 500, "4xx" => 60, "5xx" => 7 }
    },
    "latency_s" => {
      "head" => HISTOGRAM, "body" => EMPTY, "queue" => HISTOGRAM, "run" => HISTOGRAM,
      "write" => HISTOGRAM, "total" => HISTOGRAM
    },
    "executors" => [{
      "id" => 0, "fibers_limit" => 1024, "running" => 29, "parked" => 28, "ready" => 1,
      "turns_total" => 9_000, "requests_total" => 1_234_500, "busy_for_s" => 0.0, "lag_s" => LAG
    }],
    "http2" => {
      "connections" => 40, "streams" => 31, "requests_total" => 800_000,
      "reset_by_client_total" => 12, "reset_by_server_total" => 5,
      "bounds" => { "streams_total" => 2 }
    },
    "downloads" => {
      "active" => 3, "queued" => 1, "workers_busy" => 2, "workers_limit" => 50,
      "complete_total" => 1_500, "not_modified_total" => 70, "refused_total" => 4,
      "missing_total" => 5, "aborted_total" => 6, "timed_out_total" => 7, "shrunk_total" => 8,
      "stopped_total" => 9,
      "algorithms" => {
        "auto" => {
          "complete_total" => 1_400, "bytes_total" => 5_200_000_000, "bursts_total" => 9_100
        },
        "eba" => { "complete_total" => 100, "bytes_total" => 12_000_000, "bursts_total" => 200 },
        "sba" => { "complete_total" => 0, "bytes_total" => 0, "bursts_total" => 0 }
      },
      "first_byte_s" => HISTOGRAM, "duration_s" => HISTOGRAM,
      "bytes_per_second" => {
        "count" => 20, "p50" => 1_000_000, "p90" => 12_000_000, "p99" => 9_000_000_000
      }
    },
    "loop" => { "turns_total" => 8_000, "lag_s" => LAG, "guest_turns_total" => 7_000 },
    "dns" => { "lookups_total" => 12, "cached_total" => 3, "failed_total" => 1, "pending" => 0 },
    "memory" => {
      "rss_bytes" => 80_123_456, "spool_bytes" => 0, "response_bytes" => 1_500,
      "ruby_heap_live_slots" => 123_456
    },
    "gc" => { "count_total" => 20, "minor_total" => 15, "major_total" => 5, "time_s" => 0.034 },
    "bytes" => { "received_total" => 120_000_000, "sent_total" => 4_200_000_000 },
    "log" => { "dropped_total" => 0 }
  }.freeze

  # Deeply: what is given goes over the document.
  def self.document(**changes)
    merged(DOCUMENT, JSON.parse(JSON.generate(changes)))
  end

  def self.merged(old, new)
    old.merge(new) do |_, before, now|
      before.is_a?(Hash) && now.is_a?(Hash) ? merged(before, now) : now
    end
  end

  # Answers every connection with what its block returns, until closed.
  # A /fibers.json.
  FIBERS = {
    "neverblock" => "2.0.9",
    "fibers" => [
      { "fiber" => "request", "worker" => 0, "id" => "a1", "method" => "GET", "path" => "/orders/7",
        "query" => "x=1", "route" => "/orders/*", "age_s" => 12.5, "ran_s" => 0.002,
        "state" => "waiting",
        "waits_for" => { "kind" => "database", "for_s" => 12.4, "driver" => "pg",
                         "address" => "10.0.0.5:5432" },
        "line" => "app/models/order.rb:40", "backtrace_age_s" => 0.1,
        "backtrace" => ["/srv/app/models/order.rb:40:in `load'", "/srv/config.ru:3:in `call'"] },
      { "fiber" => "request", "worker" => 1, "id" => "b2", "method" => "POST", "path" => "/pay",
        "age_s" => 2, "ran_s" => 1.9, "state" => "running", "stalls_in" => "c_call",
        "line" => "lib/ledger.rb:11" },
      { "fiber" => "helper", "worker" => 1, "lane" => 2, "id" => "c3", "method" => "GET",
        "path" => "/all", "age_s" => 1, "state" => "ready" },
      { "fiber" => "background", "worker" => 1, "spare" => true, "state" => "waiting",
        "waits_for" => { "kind" => "sleep", "for_s" => 3, "left_s" => 7 } }
    ],
    "left_out" => 3, "unrecorded" => 1, "waits" => { "database" => 1, "sleep" => 1 },
    "executors" => [{ "worker" => 0, "running" => 1, "backtraces_complete" => true }]
  }.freeze

  class Server
    # @yieldparam server [Server]
    def self.open(answer = nil, listener: TCPServer.new("127.0.0.1", 0), &answering)
      raise ArgumentError, "an answer, or a block that makes them" unless answer || answering

      new(listener, answering || ->(_number) { answer })
    end

    # @return [Array<String>] the first lines that were asked
    attr_reader :asked

    # @param listener [TCPServer, UNIXServer]
    # @param answering [#call] takes the number of the question, 0 first; returns an HTTP answer
    def initialize(listener, answering)
      @listener = listener
      @answering = answering
      @asked = []
      @thread = Thread.new { serve }
      @thread.report_on_exception = false
    end

    def url
      "http://127.0.0.1:#{@listener.local_address.ip_port}"
    end

    def close
      @listener.close
      @thread.kill.join
    end

    private

    def serve
      loop do
        client = @listener.accept
        lines = []
        until (line = client.gets).nil? || line == "\r\n"
          lines << line
        end
        @asked << lines.first&.chomp
        client.write(@answering.call(@asked.size - 1))
      rescue SystemCallError
        raise if @listener.closed?
      ensure
        client&.close
      end
    rescue IOError
      nil # closed
    end
  end

  # @param body [String, Hash]
  # @return [String] an HTTP answer
  def self.answer(body = DOCUMENT, status: "200 OK")
    body = JSON.generate(body) unless body.is_a?(String)
    "HTTP/1.1 #{status}\r\nContent-Type: application/json\r\n" \
      "Content-Length: #{body.bytesize}\r\nConnection: close\r\n\r\n#{body}"
  end
end
