# frozen_string_literal: true

# The admin pages of a real server: answered by the I/O loop whatever Ruby does, right to the last
# count, and readable by Prometheus.

require "fileutils"
require "json"
require "minitest/autorun"
require "open3"
require "tmpdir"
require_relative "../support/gate"
require_relative "../support/metrics_document"
require_relative "../support/patience"
require_relative "../support/server_process"

class AdminTest < Minitest::Test
  PAGES = %w[/ /health /ready /metrics /status.json].freeze

  # /burn?PATH keeps the thread in Ruby code, /stuck?PATH in a C call that holds Ruby's lock, until
  # a byte comes through the pipe PATH. Once it does, PATH.begun exists. A C call makes that file: a
  # hook of Ruby's might park the fiber.
  APP = <<~'RACKUP'
    require "fiddle"
    LIBC = Fiddle.dlopen(nil)
    CREAT = Fiddle::Function.new(
      LIBC["creat"], [Fiddle::TYPE_VOIDP, Fiddle::TYPE_INT], Fiddle::TYPE_INT, need_gvl: true
    )
    READ = Fiddle::Function.new(
      LIBC["read"], [Fiddle::TYPE_INT, Fiddle::TYPE_VOIDP, Fiddle::TYPE_SIZE_T],
      Fiddle::TYPE_SSIZE_T, need_gvl: true
    )
    run ->(env) do
      path = env["QUERY_STRING"]
      case env["PATH_INFO"]
      when "/burn"
        over = false
        Thread.new { File.open(path, "r+") { |pipe| pipe.read(1) } && over = true }
        CREAT.call("#{path}.begun", 0o600)
        nil until over
        [200, {}, ["burnt"]]
      when "/stuck"
        descriptor = IO.sysopen(path, File::RDWR)
        memory = Fiddle::Pointer.malloc(1, Fiddle::RUBY_FREE)
        CREAT.call("#{path}.begun", 0o600)
        READ.call(descriptor, memory, 1)
        [200, {}, ["unstuck"]]
      when "/held"
        TCPSocket.open("127.0.0.1", Integer(path)) { |gate| gate.read }
        [200, {}, ["held"]]
      when "/missing" then [404, {}, ["missing"]]
      when "/boom" then raise "boom"
      when "/collect" then GC.start || [204, {}, []]
      when "/names" then 2.times { Addrinfo.getaddrinfo("localhost", 1) } && [204, {}, []]
      else [200, {}, ["hello"]]
      end
    end
  RACKUP

  def setup
    @directory = Dir.mktmpdir("neverblock-admin")
  end

  def teardown
    FileUtils.rm_rf(@directory)
  end

  def test_every_page_answers_while_a_request_burns_cpu
    with_server do |server|
      busy(server, "/burn") do |client, path|
        assert_pages_answer(server)
        refute client.closed_by_server?
        assert_nil client.socket.wait_readable(0)
        let_go(path)
        assert_equal "burnt", client.response.body
      end
    end
  end

  def test_every_page_answers_while_a_c_call_holds_rubys_lock
    with_server do |server|
      busy(server, "/stuck") do |client, path|
        assert_pages_answer(server)
        assert_nil client.socket.wait_readable(0)
        let_go(path)
        assert_equal "unstuck", client.response.body
      end
    end
  end

  def test_what_keeps_the_executor_is_seen_and_what_waits_behind_it
    alone = ServerProcess.one_process("with another worker nothing waits behind a busy executor")
    with_server(options: [*alone, "--cooperative"]) do |server|
      busy(server, "/burn") do |client, path|
        behind = Array.new(3) { Wire::Client.new(server.url) }
        behind.each { |other| other.get("/") }
        await("three requests are queued") { status(server).dig("requests", "queued") == 3 }
        seen = status(server)
        assert_equal [1, 4], [seen.dig("requests", "running"), seen.dig("connections", "answering")]
        assert_operator seen.dig("executors", 0, "busy_for_s"), :>, 0
        let_go(path)
        assert_equal "burnt", client.response.body
        behind.each { |other| assert_equal "hello", other.response.body }
        behind.each(&:close)
        await("all is done") do
          status(server)["requests"].values_at("queued", "running", "writing") == [0, 0, 0]
        end
        assert_operator status(server).dig("latency_s", "queue", "max"), :>, 0
      end
    end
  end

  def test_readiness_goes_first_when_the_server_drains_and_admin_stays_to_the_end
    Gate.open do |gate|
      server = start
      client = Wire::Client.new(server.url)
      client.get("/held?#{gate.port}")
      held = gate.arrival
      assert_equal [200, "ready\n"], page(server, "/ready")
      Process.kill("TERM", server.pid)
      await("/ready says no") { page(server, "/ready").first == 503 }
      assert_match(/\Adraining/, page(server, "/ready").last)
      assert_equal [200, "ok\n"], page(server, "/health")
      assert_equal "draining", status(server)["state"]
      assert_includes page(server, "/metrics").last, "\nneverblock_ready 0\n"
      await("the public port is closed") { refused?(server.url) }
      held.close
      assert_equal "held", client.response.body
      assert_equal 0, server.wait(Patience::SECONDS)&.exitstatus
    ensure
      client&.close
      server&.kill
    end
  end

  def test_counters_are_exact_after_a_known_script
    only_over :plain, :tls, "a target that HTTP/1.1 refuses and HTTP/2 resets"
    with_server(config: "limits { body_bytes 10 }\n") do |server|
      3.times { assert_equal 200, ask(server, "/").status }
      2.times { assert_equal 404, ask(server, "/missing").status }
      assert_equal 500, ask(server, "/boom").status
      assert_equal 413, ask(server, "/", "Content-Length: 11").status
      assert_equal 400, ask(server, "relative").status
      assert_script(status(server))
      assert_equal({ "1xx" => 0, "2xx" => 3, "3xx" => 0, "4xx" => 4, "5xx" => 1 },
                   samples(server, "neverblock_responses_total", "class"))
    end
  end

  def test_shed_requests_are_counted_each
    Gate.open do |gate|
      with_server(
        config: "fibers 1\nlimits { queue 2 }\n",
        options: ServerProcess.one_process("another worker has a fiber for what is to be shed")
      ) do |server|
        client = Wire::Client.new(server.url)
        client.get("/held?#{gate.port}")
        held = gate.arrival
        crowd = Array.new(12) { Wire::Client.new(server.url).tap { |one| one.get("/") } }
        await("each of the crowd is queued or shed") do
          status(server)["requests"].then { |now| now["queued"] + now["shed_total"] == crowd.size }
        end
        held.close
        statuses = crowd.map { |one| one.response.status }
        assert_equal "held", client.response.body
        assert_shed(status(server)["requests"], statuses)
        (crowd + [client]).each(&:close)
      end
    end
  end

  NOT_LET_IN = "a client shakes hands when it is let in, and these are not"

  def test_a_full_server_still_answers_here_and_admin_takes_no_clients_place
    only_over :plain, NOT_LET_IN
    Gate.open do |gate|
      with_server(
        config: "limits { connections 2 }\ntimeouts { accept 600 }\n",
        admin: "unix://#{@directory}/admin.sock?mode=0600"
      ) do |server|
        watchers = Array.new(3) { Wire::Client.new(server.admin_url) }
        clients = Array.new(3) do
          Wire::Client.new(server.url).tap { |one| one.get("/held?#{gate.port}") }
        end
        held = Array.new(2) { gate.arrival }
        watchers.each { |one| assert_equal "ok\n", one.get("/health") && one.response.body }
        now = JSON.parse(watchers[0].get("/status.json") && watchers[0].response.body)
        assert_equal [2, 2, 2], now["connections"].values_at("open", "answering", "limit")
        assert_equal 0o600, File.stat("#{@directory}/admin.sock").mode & 0o777
        held.each(&:close)
        clients[0, 2].each { |one| one.response && one.close } # which makes room for the third
        gate.arrival.close
        assert_equal "held", clients[2].response.body
        (watchers + clients).each(&:close)
      end
    end
  end

  def test_a_server_without_a_free_descriptor_answers_here
    only_over :plain, NOT_LET_IN
    few = ["sh", "-c", 'ulimit -n 64; exec "$@"', "sh"]
    with_server(config: "timeouts { header 600 }\n", wrap: few) do |server|
      clients = Array.new(100) { Wire::Client.new(server.url).tap { |one| one.write("GET / HT") } }
      await("it finds no descriptor") do
        status(server).dig("connections", "accept_errors_total").positive?
      end
      assert_operator status(server).dig("connections", "reading"), :>, 0
      3.times { assert_equal [200, "ok\n"], page(server, "/health") }
      clients.each(&:close)
    end
  end

  def test_framing_methods_and_paths
    with_server do |server|
      Wire::Client.open(server.admin_url) do |client|
        client.write("HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert_operator client.response(method: "HEAD")["content-length"].to_i, :>, 1_000
        client.write("HEAD /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        stream = client.response(method: "HEAD")
        assert_equal ["text/event-stream", nil], [stream["content-type"], stream["content-length"]]
        client.write("GET /nope?x HTTP/1.1\r\nHost: localhost\r\n\r\n" \
                     "DELETE /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert_equal 404, client.response.status
        refusal = client.response
        assert_equal [405, "GET, HEAD"], [refusal.status, refusal["allow"]]
        client.write("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20)
        20.times { assert_equal 200, client.response.status }
        client.write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc")
        refusal = client.response
        assert_equal 405, refusal.status
        next if Over.http2? # whose connection goes on

        assert_predicate refusal, :announces_close?
        assert_equal :eof, client.ending
      end
      assert_equal 0, status(server).dig("requests", "total")
      assert_equal 0, status(server).dig("connections", "accepted_total")
    end
  end

  # Nor when its clients leave or say nothing.
  def test_its_clients_count_in_no_figure_of_the_others
    with_server do |server|
      Wire::Client.open(server.admin_url) do |client|
        client.write("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        client.await_bytes("text/event-stream")
        client.abort
      end
      3.times { page(server, "/health") }
      assert_equal 0, status(server).dig("requests", "aborted_total")
    end
  end

  # As a browser asks whose page's name was made to lead to this machine (DNS rebinding).
  def test_a_page_of_another_name_that_leads_here_reads_nothing
    with_server do |server|
      host, port = URI(server.admin_url).then { |uri| [uri.hostname, uri.port] }
      ["rebound.example:#{port}", "localhost.rebound.example"].each do |name|
        status, body = page_as(server, name)
        assert_equal [421, "421 Misdirected Request: the admin pages are for Host localhost, " \
                           "or an IP address\n"], [status, body]
      end
      ["localhost:#{port}", "a.localhost", "#{host}:#{port}", "192.0.2.1"]
        .each { |name| assert_equal 200, page_as(server, name).first, name }
    end
  end

  def test_an_address_given_by_name_answers_for_that_name
    name = Socket.gethostname
    local = Addrinfo.getaddrinfo(name, nil, nil, :STREAM).all?(&:ipv4_loopback?)
    skip "this machine's name does not lead to itself" unless local
    with_server(admin: "http://#{name.upcase}:0") do |server|
      assert_equal 200, page_as(server, "#{name}:1").first
      assert_match(/localhost, #{name.downcase}, or/, page_as(server, "rebound.example").last)
    end
  end

  def test_an_address_for_other_machines_answers_for_every_name
    with_server(admin: "http://0.0.0.0:0") do |server|
      assert_equal 200, page_as(server, "metrics.example").first
    end
  end

  def test_without_the_option_there_is_no_admin_port
    ServerProcess.run(APP) do |server|
      refute_match(/Admin/, server.stdout)
      Wire::Client.open(server.url) do |client|
        assert_equal "hello", client.get("/") && client.response.body
      end
    end
  end

  def test_garbage_collections_and_names_asked_for_are_told
    with_server do |server|
      before = status(server).dig("gc", "major_total")
      assert_equal 204, ask(server, "/collect").status
      assert_equal 204, ask(server, "/names").status
      await("collections are counted") { status(server).dig("gc", "major_total") > before }
      await("names are counted") do
        counts = status(server)["dns"]
        counts.values_at("lookups_total", "cached_total", "failed_total", "pending") == [1, 1, 0, 0]
      end
      assert_operator status(server).dig("memory", "rss_bytes"), :>, 1_000_000
    end
  end

  def test_prometheus_has_nothing_to_say_about_the_metrics_and_the_document_lists_them_all
    with_server(app: MetricsDocument::APP, options: MetricsDocument::OPTIONS,
                binds: MetricsDocument::BINDS) do |server|
      ask(server, "/")
      text = page(server, "/metrics").last
      families = MetricsDocument.families(text)
      assert_operator families.size, :>=, 20
      assert(families.all? { |family| family.name.start_with?("neverblock_") })
      assert_equal MetricsDocument.table(text), MetricsDocument.written,
                   "ruby test/support/metrics_document.rb renews docs/METRICS.md"
      status(server).each_key { |key| assert_includes File.read(MetricsDocument::PATH), "`#{key}`" }
      unless system("promtool", "--version", out: File::NULL, err: File::NULL)
        skip "promtool is not on this machine"
      end
      out, result = Open3.capture2e("promtool", "check", "metrics", stdin_data: text)
      assert_equal ["", true], [out, result.success?]
    end
  end

  TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
  EXEMPLAR = /\Aneverblock_request_duration_seconds_bucket\{le="[^"]+"\}\ [12]
              \ \#\ \{trace_id="#{TRACE}"\}\ [\d.]+\ \d{10}\.\d+\n\z/x
  OPENMETRICS = "Accept: application/openmetrics-text;version=1.0.0;q=0.6,text/plain;q=0.3"

  def test_a_scraper_that_asks_for_openmetrics_gets_exemplars_with_the_trace_of_a_request
    with_server do |server|
      plain = page(server, "/metrics").last
      Wire::Client.open(server.url) do |client|
        client.get("/", "traceparent: 00-#{TRACE}-00f067aa0ba902b7-01") && client.response
        client.get("/", "traceparent: 00-#{TRACE.reverse}-00f067aa0ba902b7-01",
                   "traceparent: 00-#{TRACE}-00f067aa0ba902b7-01") && client.response
      end
      text = nil
      await("the exemplar is there") do
        text = page(server, "/metrics", OPENMETRICS).last
        text.include?("trace_id")
      end
      buckets = text.lines.grep(/trace_id/)
      assert_match(EXEMPLAR, buckets.first)
      assert_equal 1, buckets.size
      assert_openmetrics(text)
      refute_match(/trace_id|EOF/, page(server, "/metrics").last)
      assert_equal plain.scan(/^# TYPE.*/), page(server, "/metrics").last.scan(/^# TYPE.*/)
    end
  end

  # OpenMetrics 1.0, "Overall structure", "Counter", "Histogram".
  def assert_openmetrics(text)
    assert text.end_with?("\n# EOF\n")
    families = text.scan(/^# TYPE (\S+) (\S+)$/).to_h
    assert_equal families.size, text.scan(/^# TYPE/).size
    samples = text.lines.grep_v(/\A#/).map { |line| line[/\A[^{ ]+/] }.uniq
    endings = { "counter" => ["_total"], "gauge" => [""], "unknown" => [""],
                "histogram" => %w[_bucket _sum _count] }
    allowed = families.flat_map { |name, type| endings.fetch(type).map { |ending| name + ending } }
    assert_empty samples - allowed
    assert_empty text.scan(/le="\d+"/)
  end

  def test_one_process_has_the_metrics_of_the_document_but_those_of_worker_processes
    alone = ServerProcess.one_process("the metrics of one process are looked at")
    options = [*alone, *MetricsDocument::CONFIGURED]
    with_server(app: MetricsDocument::APP, options: options,
                binds: MetricsDocument::BINDS) do |server|
      await("its pool is told") do
        page(server, "/metrics").last.include?("neverblock_pool_size{")
      end
      rows = MetricsDocument.table(page(server, "/metrics").last).lines
      missing = (rows | MetricsDocument.written.lines) - rows
      assert_equal ["| `neverblock_worker_resident_memory_bytes`"],
                   missing.map { |row| row[/\A\| \S+`/] }
      assert_empty rows - MetricsDocument.written.lines
    end
  end

  private

  def start(config: nil, admin: "http://127.0.0.1:0", app: APP, options: [], **more)
    options = ["--admin", admin, *options]
    if config
      options.push("-C", File.join(@directory, "config.rb").tap { |path| File.write(path, config) })
    end
    ServerProcess.new(app, options: options, **more).start
  end

  def with_server(**options)
    server = start(**options)
    yield server
    server.stop
  ensure
    server&.kill
  end

  # A request that keeps the executor's thread until the block lets it go.
  def busy(server, target)
    path = File.join(@directory, "busy")
    File.mkfifo(path)
    client = Wire::Client.new(server.url)
    client.get("#{target}?#{path}")
    await("the request has begun") { File.exist?("#{path}.begun") }
    yield client, path
  ensure
    client&.close
  end

  def let_go(path)
    File.open(path, "r+") do |pipe|
      pipe.write("x") && pipe.flush && await("the byte is taken") { !pipe.wait_readable(0) }
    end
  end

  def assert_pages_answer(server)
    PAGES.each { |path| assert_equal 200, page(server, path).first, path }
  end

  def page(server, path, *fields)
    Wire::Client.open(server.admin_url) do |client|
      (client.get(path, *fields) && client.response).then { |response|
        [response.status, response.body]
      }
    end
  end

  # The status page, asked for under this name.
  def page_as(server, host)
    Wire::Client.open(server.admin_url) do |client|
      client.write("GET /status.json HTTP/1.1\r\nHost: #{host}\r\n\r\n")
      client.response.then { |response| [response.status, response.body] }
    end
  end

  def status(server)
    JSON.parse(page(server, "/status.json").last)
  end

  def samples(server, name, label)
    page(server, "/metrics").last
      .scan(/^#{name}\{#{label}="([^"]+)"\} (\d+)$/)
      .to_h { |value, count| [value, count.to_i] }
  end

  def ask(server, target, *fields)
    Wire::Client.open(server.url) { |client| client.get(target, *fields) && client.response }
  end

  def refused?(url)
    Wire::Client.new(url).close
    false
  rescue SystemCallError
    true
  end

  def await(what, &)
    Patience.await(what, &)
  end

  def assert_script(now)
    requests = now["requests"]
    assert_equal({ "1xx" => 0, "2xx" => 3, "3xx" => 0, "4xx" => 4, "5xx" => 1 },
                 requests["by_class"])
    assert_equal [6, 0, 1, 2],
                 requests.values_at("total", "shed_total", "errors_total", "refused_total")
    assert_equal [6, 6, 8], %w[queue run total].map { |stage| now.dig("latency_s", stage, "count") }
    assert_equal 8, now.dig("connections", "accepted_total")
    assert_equal 6, now["executors"].sum { |executor| executor["requests_total"] }
  end

  def assert_shed(requests, statuses)
    shed = statuses.count(503)
    assert_operator shed, :>, 0
    assert_equal statuses.size, shed + statuses.count(200)
    assert_equal [shed, statuses.size - shed + 1],
                 [requests["shed_total"], requests.dig("by_class", "2xx")]
    assert_equal [shed, 0], [requests.dig("by_class", "5xx"), requests["errors_total"]]
  end
end
