# frozen_string_literal: true

# Tests 10,000 requests of all sorts through NeverBlock's pools, ActiveRecord and Sequel on
# PostgreSQL. Meanwhile clients leave, deadlines pass, connections break and the server restarts. No
# request gets a row of another's, nothing is written twice or lost, no connection is lost from a
# pool, nobody is left waiting.
#
# NB_MIXED_REQUESTS and NB_MIXED_SEED change the run. A seed gives the same requests and faults, but
# not the same order of events.

require "json"
require "minitest/autorun"
require "pg"
require "socket"

require "support/server_process"
require "support/services"
require_relative "databases/relay"

class DatabasesMixedTest < Minitest::Test
  REQUESTS = Integer(ENV.fetch("NB_MIXED_REQUESTS", "10000"), 10)
  SEED = Integer(ENV.fetch("NB_MIXED_SEED", Random.new_seed.to_s), 10) % (2**32)
  CLIENTS = 48
  LIBRARIES = %w[plain records sequels].freeze
  WHATS = { "short" => 50, "long" => 12, "rows" => 12, "write" => 12, "two" => 6, "limited" => 6,
            "overdue" => 2 }.freeze
  # Of a hundred clients, how many leave without waiting for the answer.
  LEAVE = 6
  # Seconds between two faults; one in RESTART of them restarts the server.
  FAULT_S = 0.15
  RESTART = 60
  SETTINGS = <<~RUBY
    timeouts { request 4 }
    cancel_on_disconnect true
  RUBY
  # What a server that is cut off, restarts or is overdue is answered with.
  REFUSALS = [502, 503].freeze

  def setup
    @service = Services::Postgresql.new(max_connections: 200).start
    @relay = CuttingRelay.new(@service.port)
    ask("create table written (token text)")
  end

  def teardown
    @relay&.stop
    @service&.stop
  end

  [1, 2].each do |workers|
    define_method("test_mixed_requests_with_#{workers}_workers") { mixed(workers) }
  end

  private

  def mixed(workers)
    puts "seed #{SEED}, #{REQUESTS} requests, #{workers} workers"
    with_server(workers) do |server|
      outcomes = under_faults { all_requests(server.url) }
      told = outcomes.group_by { |outcome| outcome[:said] }.transform_values(&:size)
      puts "#{told}, #{@faults}"
      assert_equal [], outcomes.select { |outcome| outcome[:said] == "wrong" }.first(5)
      assert_operator told.fetch("right", 0), :>, REQUESTS / 2
      assert_written(outcomes)
      assert_at_rest(server, workers)
    end
  end

  def with_server(workers)
    app = "require #{File.expand_path("databases/app.rb", __dir__).inspect}\n" \
          "run DatabasesApp.new(#{@relay.port})\n"
    Dir.mktmpdir do |folder|
      file = File.join(folder, "neverblock.rb")
      File.write(file, SETTINGS)
      server =
        ServerProcess.new(app, options: ["-C", file, "-w", workers.to_s, "-e", "production"]).start
      begin
        yield server
      ensure
        server.stop(expect: nil)
        puts server.stderr.lines.last(40) unless passed?
      end
    end
  end

  # --- Requests ---

  def all_requests(url)
    host, port = url.delete_prefix("http://").split(":")
    share = REQUESTS / CLIENTS
    threads = Array.new(CLIENTS) do |number|
      Thread.new do
        random = Random.new(SEED + number)
        Array.new(share) do |index|
          exchange(host, Integer(port, 10), "t#{number}x#{index}", random)
        end
      end
    end
    threads.flat_map(&:value)
  end

  def exchange(host, port, token, random)
    library = LIBRARIES.sample(random: random)
    what = pick(random)
    leave_s = random.rand(0.06) if random.rand(100) < LEAVE
    Socket.tcp(host, port, connect_timeout: Patience::SECONDS) do |socket|
      socket.write(
        "GET /#{library}/#{what}/#{token} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
      )
      next { token: token, what: what, said: "left" } if leave_s && sleep(leave_s)

      { token: token, what: what, **judge(read(socket), what, token, library) }
    end
  end

  def pick(random)
    chosen = random.rand(WHATS.values.sum)
    WHATS.find { |_, weight| (chosen -= weight).negative? }.first
  end

  def read(socket)
    text = +""
    text << socket.readpartial(65_536) while socket.wait_readable(Patience::SECONDS)
    "nothing within #{Patience::SECONDS} s"
  rescue EOFError
    text
  end

  def judge(text, what, token, library)
    status = text[%r{\AHTTP/1.1 (\d+)}, 1].to_i
    body = text.split("\r\n\r\n", 2).last.to_s
    wanted = Array.new({ "rows" => 200, "two" => 2 }.fetch(what, 1), token).join(" ")
    return { said: "right" } if status == 200 && body == wanted
    return { said: "refused" } if REFUSALS.include?(status)

    { said: "wrong", library: library, status: status, body: body[0, 300] }
  end

  # --- Faults ---

  def under_faults
    over = false
    @faults = Hash.new(0)
    random = Random.new(SEED)
    breaking = Thread.new do
      number = 0
      until over
        sleep(FAULT_S)
        fault(number += 1, random)
      end
    end
    yield
  ensure
    over = true
    breaking.join
  end

  def fault(number, random)
    kind = (number % RESTART).zero? ? :restart : %i[cut terminate cancel].sample(random: random)
    @faults[kind] += 1
    case kind
    when :restart then @service.restart(%w[INT QUIT].sample(random: random))
    when :cut then @relay.cut(random)
    when :terminate then ask("select pg_terminate_backend(#{one_of(random)})")
    else ask("select pg_cancel_backend(#{one_of(random)})")
    end
  rescue PG::Error
    nil # it has just gone
  end

  def one_of(random)
    "(select pid from pg_stat_activity where application_name = 'mixed' " \
      "order by md5(pid::text || '#{random.rand(1_000_000)}') limit 1)"
  end

  # --- Afterwards ---

  def ask(sql)
    connection = PG.connect(host: "127.0.0.1", port: @service.port, user: "postgres",
                            dbname: "postgres", sslmode: "disable")
    connection.exec(sql).values.flatten
  ensure
    connection&.finish
  end

  def assert_written(outcomes)
    written = ask("select token from written")
    assert_equal written.uniq.size, written.size, "a request wrote twice"
    right = outcomes.select { |outcome| outcome[:what] == "write" && outcome[:said] == "right" }
    told = right.map { |outcome| outcome[:token] }
    assert_equal [], told - written, "what was answered for was not written"
  end

  # All libraries answer again, and all connections are in their pools.
  def assert_at_rest(server, workers)
    host, port = server.url.delete_prefix("http://").split(":")
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + Patience::SECONDS
    LIBRARIES.product((1..60).to_a).each do |library, number|
      said = again(host, Integer(port, 10), library, "rest#{number}")
      retry_until = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      redo if said != "right" && retry_until < limit
      assert_equal "right", said
    end
    return if workers > 1 # each has pools of its own

    body = get(host, Integer(port, 10), "/rest").split("\r\n\r\n", 2).last
    JSON.parse(body).each do |library, rest|
      assert_equal [0, 0], rest.values_at("held", "waiting"), library
      assert_operator rest["there"], :<=, rest["most"], library
    end
  end

  def again(host, port, library, token)
    judge(get(host, port, "/#{library}/short/#{token}"), "short", token, library)[:said]
  end

  def get(host, port, path)
    Socket.tcp(host, port) do |socket|
      socket.write("GET #{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
      read(socket)
    end
  end
end
