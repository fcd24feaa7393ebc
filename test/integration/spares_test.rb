# frozen_string_literal: true

# Executors that help out. While a call without Ruby's lock keeps the thread of the executor,
# requests go on in the same process. And what it means for what requests share. Where a request is
# held, nothing but its release can end it, so an answer that comes meanwhile has come from a spare.

require_relative "../support/held_requests"
require_relative "../support/http_client"
require_relative "../support/server_process"
require_relative "../support/unit"
require_relative "../support/wire"
require "neverblock"
require "neverblock/server"

class SparesTest < Minitest::Test
  include HeldRequests

  def test_a_request_that_keeps_its_thread_keeps_nobody_else
    start
    held = hold
    assert_equal "nb-spare-0", ask("/")
    assert_equal "nb-spare-0", ask("/")
    @release << true
    assert_equal "nb-executor-0", held.value
    Patience.await("the executor serves again") { ask("/") == "nb-executor-0" }
  end

  def test_each_that_is_kept_has_a_spare_until_there_is_none_left
    start(spares: 3)
    held = Array.new(3) { hold }
    assert_equal "nb-spare-2", ask("/")
    3.times { @release << true }
    assert_equal %w[nb-executor-0 nb-spare-0 nb-spare-1], held.map(&:value)
  end

  # The spare that is kept cannot say whether the executor is.
  def test_an_executor_that_is_kept_again_while_its_spare_still_is_has_the_next
    start(spares: 2)
    held = Array.new(2) { hold }
    @release << true
    assert_equal "nb-executor-0", held.first.value
    Patience.await("the executor serves again") { ask("/") == "nb-executor-0" }
    again = hold
    assert_equal "nb-spare-1", ask("/")
    2.times { @release << true }
    assert_equal %w[nb-spare-0 nb-executor-0], [held.last.value, again.value]
  end

  def test_without_spares_requests_wait
    start(spares: 0)
    hold
    waits = client("/")
    @release << true
    assert_equal "nb-executor-0", waits.value
  end

  # The third could run on the spare, were it not for the two.
  def test_together_they_run_no_more_requests_than_fibers_says
    start(fibers: 2)
    hold
    parked = client("/park")
    assert_equal "nb-spare-0", arrival
    waits = client("/")
    Patience.await("the third is there") { @server.stats.fetch(:requests) == 3 }
    assert_equal 1, @server.stats.fetch(:queue)
    2.times { @release << true }
    assert_match(/\Anb-/, waits.value)
    assert_equal "nb-spare-0", parked.value
  end

  def test_a_large_body_a_streamed_one_and_a_long_answer_go_through_a_spare
    start
    hold
    body = "x" * 300_000
    assert_equal "300000 nb-spare-0", HTTPClient.post(URI("#{url}/size"), body).body
    assert_equal 3_000_000, ask("/long").bytesize
  end

  # The connection goes from a fiber of one scheduler to one of the other, which waits in its own.
  # The lock likewise.
  def test_a_pool_and_a_mutex_are_handed_over_between_executors
    pool = NeverBlock::Pool::FiberedConnectionPool.new(size: 1) { Object.new }
    mutex = Mutex.new
    user = lambda do
      @held.push(Thread.current.name)
      mutex.synchronize { pool.hold { @held.push(Thread.current.name) && @release.pop } }
      pool.hold { mutex.synchronize { sleep 0 } }
    end
    start(user: user)
    first = client("/user")
    assert_equal %w[nb-executor-0 nb-executor-0], [arrival, arrival] # it has come, and has both
    hold
    second = client("/user")
    assert_equal "nb-spare-0", arrival
    assert_equal "nb-spare-0", ask("/") # whom waiting does not keep
    3.times { @release << true }
    assert_equal "nb-spare-0", arrival
    assert_equal %w[nb-executor-0 nb-spare-0], [first.value, second.value]
  end

  def test_a_class_that_the_executor_holds_back_goes_to_its_spare
    only_over :plain, :tls, "HTTP/2 has streams instead"
    start
    assert_equal "nb-executor-0", ask("/close/1")
    held = hold
    assert_equal ["nb-spare-0"] * 16, ask_at_once("/class/2", 16)
    @release << true
    assert_equal "nb-executor-0", held.value
  end

  def test_an_end_waits_for_what_a_spare_runs
    start
    hold
    parked = client("/park")
    assert_equal "nb-spare-0", arrival
    @server.drain
    2.times { @release << true }
    assert_equal "nb-spare-0", parked.value
    assert @server.wait(Patience::SECONDS)
    assert_empty Thread.list.filter_map(&:name).grep(/\Anb-/)
  end

  def test_a_spare_that_ends_before_its_time_ends_the_server
    start
    hold
    client("/die")
    Patience.await("the end") { @server.failure }
    assert_match(/the executor of nb-spare-0 has failed and ends the server/,
                 @log_reader.readpartial(4096))
    @release << true
    assert @server.wait(Patience::SECONDS)
  end

  private

  def app(user)
    lambda do |env|
      case env["PATH_INFO"]
      when "/close/1" then close("/class/1")
      when "/held" then keep { @held.push(thread_name) && @release.pop }
      when "/park" then @held.push(thread_name) && @release.pop
      when "/size" then next [200, {}, ["#{env["rack.input"].read.bytesize} #{thread_name}"]]
      when "/long" then next [200, {}, Enumerator.new { |out| 300.times { out << ("x" * 10_000) } }]
      when "/user" then user.call
      when "/die" then Thread.current.kill
      end
      [200, {}, [thread_name]]
    end
  end

  def keep(&block)
    NeverBlock::Compat.blocking(&block)
  end

  # The executor that runs this takes no more requests of the path's class.
  def close(path)
    NeverBlock::Executor.close_request_class(NeverBlock::Executor.request_class_of("GET", path))
  end

  def thread_name
    Thread.current.name
  end

  def start(user: nil, **settings)
    serve(app(user), learn_lanes: false, **settings) # what is held so often would go to a lane
  end

  # More requests than an executor is given ahead, in one piece.
  # @return [Array<String>] the names of the threads that have answered
  def ask_at_once(path, count)
    Wire::Client.open(url, deadline_s: Patience::SECONDS) do |wire|
      wire.write("GET #{path} HTTP/1.1\r\nHost: a\r\n\r\n" * count)
      Array.new(count) { wire.response.body }
    end
  end

  # @return [Thread] a client whose request keeps an executor's thread until it is released
  def hold
    client("/held").tap { arrival }
  end
end
