# frozen_string_literal: true

# NeverBlock::Server inside a process that has other things to do, as an application or a test uses
# it.

require_relative "../support/http_client"
require_relative "../support/unit"
require_relative "../support/gate"
require "neverblock"

class LifecycleInProcessTest < Minitest::Test
  QUICK_S = Patience::SECONDS

  def setup
    @log_reader, @log_writer = IO.pipe
  end

  def teardown
    @server&.stop_now
    [@log_reader, @log_writer].each(&:close)
  end

  def test_it_serves_from_start_to_stop_and_leaves_no_thread_behind
    start(->(env) { [200, {}, [env["PATH_INFO"]]] })
    assert_equal "/x", HTTPClient.get(URI("#{url}/x"))
    assert_operator @server.stats.fetch(:requests), :>=, 1
    assert @server.stop(timeout: QUICK_S)
    refute_predicate @server, :running?
    assert_empty @server.stats
    assert_empty Thread.list.filter_map(&:name).grep(/\Anb-/)
    assert_raises(Errno::ECONNREFUSED) { HTTPClient.get(URI(url)) }
  end

  def test_two_servers_run_beside_each_other
    start(->(_env) { [200, {}, ["one"]] })
    other = make(->(_env) { [200, {}, ["two"]] }).start
    assert_equal %w[one two], [url, other.urls.first].map { |each| HTTPClient.get(URI(each)) }
    assert other.stop(timeout: QUICK_S)
    assert_equal "one", HTTPClient.get(URI(url))
  end

  # One executor is held by a request that waits without giving way; the other answers meanwhile.
  def test_two_executors_share_the_requests
    Gate.open do |gate|
      waits = gate.wait_expression
      app = lambda do |env|
        NeverBlock::Compat.blocking { instance_eval(waits) } if env["PATH_INFO"] == "/held"
        [200, {}, [Thread.current.name]]
      end
      start(app, executors: 2, fibers: 4)
      held = Thread.new { HTTPClient.get(URI("#{url}/held")) }
      arrival = gate.arrival
      others = Array.new(3) { Timeout.timeout(QUICK_S) { HTTPClient.get(URI("#{url}/free")) } }
      arrival.close
      assert_equal %w[nb-executor-0 nb-executor-1], [held.value, *others].uniq.sort
      assert_equal 1, others.uniq.size
    end
  end

  def test_an_address_that_is_taken_is_an_error_and_the_next_server_can_start
    TCPServer.open("127.0.0.1", 0) do |holder|
      binds = ["http://127.0.0.1:#{holder.local_address.ip_port}"]
      config = NeverBlock::Config.new(binds: binds, log_fd: @log_writer.fileno)
      assert_raises(NeverBlock::StartError) { NeverBlock::Server.new(config, ->(_env) {}).start }
    end
    start(->(_env) { [200, {}, ["fine"]] })
    assert_equal "fine", HTTPClient.get(URI(url))
  end

  def test_settings_reach_the_loop
    start(->(_env) { [200, {}, []] }, headers_max: 3)
    request = Net::HTTP::Get.new("/", Array.new(9) { |number| ["x-#{number}", "y"] }.to_h)
    code = HTTPClient.open(url) { |http| http.request(request).code }
    assert_equal "431", code
  end

  private

  def start(app, **settings)
    @server = make(app, **settings).start
  end

  def make(app, **settings)
    config = NeverBlock::Config.new(
      binds: [Over.bind("http://127.0.0.1:0")], log_fd: @log_writer.fileno, **settings
    )
    NeverBlock::Server.new(config, app)
  end

  def url
    @server.urls.first
  end
end
