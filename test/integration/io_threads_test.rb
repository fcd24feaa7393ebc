# frozen_string_literal: true

# A front with two I/O threads and two workers. Connections are spread over the threads. Whatever
# happens to workers or the server happens to all of them. (The whole suite runs so with
# NB_TEST_WORKERS=2 NB_TEST_IO_THREADS=2.)

require "digest/sha2"
require "json"
require "socket"
require_relative "../support/http_client"
require_relative "../support/workers_case"

class IoThreadsTest < WorkersCase
  CLIENTS = 4

  def self.app(gate)
    <<~RUBY
      require "digest/sha2"
      require "socket"
      run ->(env) do
        case env["PATH_INFO"]
        when "/held" then #{gate.wait_expression}
        when "/sum" then next [200, {}, [Digest::MD5.hexdigest(env["rack.input"].read)]]
        when "/stream"
          next [200, {}, Enumerator.new { |parts| 50.times { |i| parts << i.to_s * 10_000 } }]
        when "/take"
          io = env["rack.hijack"].call
          io.write("HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\ntaken")
          io.close
        end
        [200, {}, [Process.pid.to_s]]
      end
    RUBY
  end

  def test_hijacked_connections_are_given_by_each_thread
    only_over :plain, :tls, "HTTP/2 has no hijack"
    with_clients do |_server, clients, _gate|
      assert_equal ["taken"], clients.map { |http| http.get("/take").body }.uniq
    end
  end

  def test_bodies_and_streams_come_and_go_by_each_thread
    with_clients do |server, clients, _gate|
      body = Random.new(1).bytes(300_000)
      assert_equal [Digest::MD5.hexdigest(body)],
                   clients.map { |http| http.post("/sum", body).body }.uniq
      assert_equal [Array.new(50) { |i| i.to_s * 10_000 }.join],
                   clients.map { |http| http.get("/stream").body }.uniq
      connections = status(server)["connections"]
      assert_equal [CLIENTS, CLIENTS], connections.values_at("open", "accepted_total")
      assert_equal 2 * CLIENTS, status(server)["requests"]["total"]
      tasks = "/proc/#{server.pid}/task"
      names = Dir.children(tasks).map { |id| File.read("#{tasks}/#{id}/comm").chomp }
      assert_equal %w[nb-io nb-io-1], names.grep(/nb-io/).sort
    end
  end

  def test_a_worker_of_one_fiber_gets_one_request_and_the_other_worker_what_comes_meanwhile
    with_clients(options: %w[-f 1]) do |server, clients, gate|
      first = Thread.new { clients[0].get("/held") }
      insides = [gate.arrival]
      free = clients.drop(1).flat_map { |http| Array.new(5) { http.get("/").body } }.uniq
      assert_equal 1, free.size
      second = Thread.new { clients[1].get("/held") }
      insides << gate.arrival
      waiting = clients.drop(2).map { |http| Thread.new { http.get("/").body } }
      await("two requests to wait", server) { status(server)["requests"]["queued"] == 2 }
      insides.shift.close
      assert_equal [first.value.body], waiting.map(&:value).uniq
      insides.shift.close
      assert_equal free.first, second.value.body
    ensure
      insides&.each(&:close)
    end
  end

  def test_a_killed_worker_costs_what_it_ran_and_no_connection
    with_clients do |server, clients, gate|
      held = clients.map { |http| Thread.new { http.get("/held").code } }
      insides = Array.new(CLIENTS) { gate.arrival }
      processes(server, "worker").each { |pid| Process.kill("KILL", pid) }
      assert_equal ["502"], held.map(&:value).uniq
      assert_equal ["200"], clients.map { |http| http.get("/").code }.uniq
      figures = status(server)
      assert_equal CLIENTS, figures["requests"]["lost_total"]
      assert_equal [CLIENTS, CLIENTS], figures["connections"].values_at("open", "accepted_total")
    ensure
      insides&.each(&:close)
    end
  end

  def test_a_reload_and_a_drain_wait_for_what_each_thread_still_has
    with_clients do |server, clients, gate|
      held = clients.first(2).map { |http| Thread.new { http.get("/held") } }
      insides = Array.new(2) { gate.arrival }
      old = processes(server, "worker")
      Process.kill("HUP", server.pid)
      server.await_stderr(/2 new workers serve/)
      served = clients.drop(2).flat_map do |http|
        Array.new(4) { http.get("/").body.to_i }
      end
      assert_empty served & old
      assert_equal CLIENTS, status(server)["connections"]["accepted_total"]
      late = clients.drop(2).map { |http| Thread.new { http.get("/held").code } }
      insides.concat(Array.new(2) { gate.arrival })
      Process.kill("TERM", server.pid)
      server.await_stderr(/SIGTERM: draining/)
      insides.each(&:close)
      assert_equal %w[200 200 200 200], held.map { |one| one.value.code } + late.map(&:value)
      assert_equal 0, server.wait(Patience::SECONDS).exitstatus
    ensure
      insides&.each(&:close)
    end
  end

  private

  def with_clients(options: [])
    options = ["--io-threads", "2", "--admin", "http://127.0.0.1:0", *options]
    Gate.open do |gate|
      serve(self.class.app(gate), options: options) do |server|
        uri = URI(server.url)
        clients = Array.new(CLIENTS) do
          HTTPClient.open(uri, max_retries: 0, read_timeout: Patience::SECONDS)
        end
        await("the connections to be there", server) do
          status(server)["connections"]["open"] == CLIENTS
        end
        yield server, clients, gate
      ensure
        clients&.each { |http| http.finish if http.started? }
      end
    end
  end

  def status(server)
    admin = server.stdout[ServerProcess::ADMIN, 1] ||
            await("the admin address", server) { server.stdout[ServerProcess::ADMIN, 1] }
    JSON.parse(HTTPClient.get(URI("#{admin}/status.json")))
  end
end
