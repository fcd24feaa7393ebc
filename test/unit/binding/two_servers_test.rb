# frozen_string_literal: true

require_relative "binding_case"

# Two servers in one process number their requests alike: what a request of the one has in its env
# is of no use to a request of the other.
class TwoServersTest < BindingCase
  def teardown
    @servers.each do |server|
      assert server.stop_now(timeout: SECONDS), "a server did not end"
    end
    super
  end

  # @yield [String, Hash] the name of the server, and env
  def serve_twice(&app)
    @servers = %w[a b].map do |name|
      config = NeverBlock::Config.new(binds: ["http://127.0.0.1:0"], log_fd: @log_file.fileno,
                                      stall_ms: NO_STALL_MS, early_hints: true)
      NeverBlock::Server.new(config, ->(env) { app.call(name, env) }, log: @log).start
    end
  end

  def wire(server, &block)
    Wire::Client.open(server.urls.first, deadline_s: SECONDS, &block)
  end

  def all_of(server)
    wire(server) do |wire|
      wire.write("GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
      wire.take_to_end.first
    end
  end

  def test_each_client_has_the_hints_of_its_own_request
    begun = Queue.new
    gates = { "a" => Queue.new, "b" => Queue.new }
    serve_twice do |name, env|
      begun << true
      gates[name].pop
      env["rack.early_hints"].call("x-of" => name)
      [200, {}, [name]]
    end
    asking = @servers.map { |server| Thread.new { all_of(server) } }
    within { 2.times { begun.pop } }
    answers = gates.values.zip(asking).map do |gate, thread|
      gate << true
      within { thread.value }
    end
    answers.zip(gates.keys) do |answer, name|
      assert_equal [name], answer.scan(/^x-of: (\w)/).flatten
      assert answer.end_with?(name)
    end
  end

  def test_the_hijack_of_one_takes_no_connection_of_the_other
    kept = nil
    serve_twice do |name, env|
      kept = env["rack.hijack"] if name == "a"
      error = name == "b" && assert_raises(NeverBlock::Error) { kept.call }
      [200, {}, [error ? error.message : "kept"]]
    end
    assert_equal "kept", wire(@servers[0]) { |wire| wire.get("/") && wire.response.body }
    assert_match(/\Arack\.hijack is called in its request/,
                 wire(@servers[1]) { |wire| wire.get("/") && wire.response.body })
  end
end
