# frozen_string_literal: true

require_relative "../../support/fake_native"
require_relative "../../support/patience"
require "neverblock/server"
require "stringio"

class RunnerTest < Minitest::Test
  def setup
    @out = StringIO.new
    @timers = Thread::Queue.new
    @abandoned = []
    @now = 100.0
  end

  def test_it_announces_every_address_on_standard_output_once_it_takes_connections
    run_server(binds: ["http://127.0.0.1:0", "unix:///run/x.sock"]) do
      assert_equal "Listening on http://127.0.0.1:40123\nListening on unix:///run/x.sock\n",
                   @out.string
      assert @fake.engine.called?(:start)
    end
  end

  def test_it_announces_the_admin_pages_after_them
    run_server(settings: { admin: "http://127.0.0.1:0" }) do
      assert_equal "Listening on http://127.0.0.1:40123\nAdmin on http://127.0.0.1:40124\n",
                   @out.string
    end
  end

  def test_notices_are_logged_only_when_it_serves
    run_server(notices: ["version 2"]) do
      assert_match(/\Aneverblock: \S+Z info: version 2\n\z/, @log.text)
    end
    server = make_server(failures: [Errno::EADDRINUSE.new])
    assert_raises(NeverBlock::StartError) do
      NeverBlock::Server::Runner.new(server, out: @out, notices: ["version 2"]).run
    end
    assert_empty @log.text
  end

  %w[TERM INT].each do |name|
    define_method("test_#{name} drains and a clean end is status 0") do
      status = run_server(end_with: nil) do
        send_signal(name) && await(:drain) && @fake.engine.requests_end
      end
      assert_equal 0, status
      assert_match(/SIG#{name}: draining; requests have 30 s to end/, @log.text)
      assert @log.flushed
      refute @fake.engine.called?(:stop_now)
    end

    define_method("test_a second #{name} cuts and is status 1") do
      status = run_server(end_with: nil) do
        send_signal(name) && await_drained
        @now += NeverBlock::Server::Runner::SAME_S
        send_signal(name)
      end
      assert_equal 1, status
      assert @fake.engine.called?(:stop_now)
    end

    # timeout(1) signals its child, and then its group with the child.
    define_method("test_#{name} that comes twice at once is one") do
      status = run_server(end_with: nil) do
        send_signal(name) && await_drained
        @now += NeverBlock::Server::Runner::SAME_S - 0.01
        send_signal(name) && await_taken
        @fake.engine.requests_end
      end
      assert_equal 0, status
      refute @fake.engine.called?(:stop_now)
      assert_includes @log.text, "SIG#{name} twice within a second is one; another aborts requests"
    end
  end

  # As `neverblock stop --now` does.
  def test_another_signal_at_once_is_a_second_one
    assert_equal(1, run_server(end_with: nil) { %w[TERM INT].each { |name| send_signal(name) } })
    assert @fake.engine.called?(:stop_now)
  end

  def test_a_third_signal_changes_nothing
    names = %w[TERM INT QUIT]
    assert_equal(1, run_server(end_with: nil) { names.each { |name| send_signal(name) } })
    assert_equal 1, @fake.engine.calls.count([:stop_now])
  end

  def test_its_last_line_says_that_it_has_ended
    run_server { nil }
    assert_match(/ info: stopped\n\z/, @log.text)
  end

  def test_its_last_line_says_how_many_requests_were_cut
    run_server(end_with: nil) do
      @fake.engine.aborted = 5
      send_signal("TERM") && await_drained
      @fake.engine.aborted = 7
      send_signal("INT")
    end
    assert_match(/ info: stopped; 2 requests were cut\n\z/, @log.text)
  end

  def test_usr1_says_what_there_is_and_nothing_else_happens
    assert_equal(0, run_server { send_signal("USR1") })
    assert_match(/SIGUSR1: HUP or `neverblock reload` loads new code; nothing is done/, @log.text)
  end

  def test_usr2_names_what_cannot_be_started_again
    run_server do
      send_signal("USR2")
      Patience.await("it is told") { @log.text.include?("SIGUSR2") }
    end
    assert_match(/SIGUSR2: no upgrade: rackup, rails server or another program/, @log.text)
  end

  def test_what_an_application_traps_stays_its_own
    got = Thread::Queue.new
    before = Signal.trap("USR1") { got << :usr1 }
    assert_equal(0, run_server { Process.kill("USR1", Process.pid).then { got.pop } })
  ensure
    Signal.trap("USR1", before || "DEFAULT")
  end

  def test_hup_names_the_upgrade_where_there_can_be_one
    assert_equal(0, run_server(again: Struct.new(:upgrades?).new(true)) { send_signal("HUP") })
    assert_includes @log.text, "`neverblock upgrade` or USR2 loads new code; nothing is done"
  end

  def test_hup_reads_certificates_anew_where_there_are_some
    run_server do
      @server.define_singleton_method(:renew_certificates) { true }
      send_signal("HUP")
    end
    assert_includes @log.text, "info: SIGHUP: its certificates are read anew"
    refute_includes @log.text, "nothing is done"
  end

  { "HUP" => :reload, "TTIN" => :add_worker, "TTOU" => :remove_worker }.each do |name, verb|
    define_method("test_#{name} is for servers with workers") do
      assert_equal(0, run_server { send_signal(name) })
      assert_includes @log.text, "SIG#{name}: this server is one process and has no workers " \
                                 "(it needs -w 2 or more)"
      assert_includes @log.text, "; nothing is done"
      assert_equal name == "HUP", @log.text.include?("the program that has started it")
    end

    define_method("test_#{name} is handed to a server with workers as #{verb}") do
      called = Thread::Queue.new
      run_server do
        @server.define_singleton_method(verb) { called << verb }
        send_signal(name)
        assert_equal verb, Timeout.timeout(Patience::SECONDS) { called.pop }
      end
    end
  end

  # A server whose workers never came to serve.
  def test_a_failure_before_it_served_is_raised_for_the_command_to_tell
    server = make_server
    server.define_singleton_method(:start) { |**_serving, &on_end| on_end.call }
    server.define_singleton_method(:failure) { NeverBlock::ApplicationError.new("config.ru:1: no") }
    error = assert_raises(NeverBlock::ApplicationError) do
      NeverBlock::Server::Runner.new(server, out: @out).run
    end
    assert_equal "config.ru:1: no", error.message
    assert_empty @out.string
  end

  def test_an_executor_that_dies_is_status_1
    assert_equal(1, run_server(death: RuntimeError.new("lost"), end_with: nil) { nil })
    assert_match(/executor 0 has failed.*lost/, @log.text)
  end

  def test_a_loop_that_ends_unasked_is_status_1
    assert_equal(1, run_server(end_with: nil) { @fake.engine.requests_end })
    assert_match(/the I\/O loop has ended without being told to/, @log.text)
  end

  def test_requests_that_cannot_be_ended_are_left_behind_when_the_time_is_over
    status = run_server(end_with: nil, settings: { shutdown_timeout_ms: 1_500 }) do
      send_signal("TERM")
      seconds, timer = @timers.pop
      assert_in_delta 1.5, seconds
      timer.call
      seconds, timer = @timers.pop
      assert_equal [NeverBlock::Server::GRACE_S, []], [seconds, @abandoned]
      timer.call
    end
    assert_equal [1, [1]], [status, @abandoned]
    assert_match(/running requests do not end.*\n.* info: stopped\n\z/, @log.text)
  ensure
    @fake.engine.requests_end
  end

  def test_at_exit_blocks_of_workers_have_their_time_once
    status = run_server(end_with: nil) do
      @server.define_singleton_method(:exit_left) { 7.0 }
      send_signal("TERM")
      2.times { @timers.pop.last.call }
      seconds, timer = @timers.pop
      assert_equal [7.0, []], [seconds, @abandoned]
      timer.call
    end
    assert_equal [1, [1]], [status, @abandoned]
  ensure
    @fake.engine.requests_end
  end

  def test_the_handlers_there_were_before_are_put_back
    mine = proc {}
    before = Signal.trap("TERM", mine)
    run_server { nil }
    assert_same mine, Signal.trap("TERM", before || "DEFAULT")
  end

  def test_a_server_that_cannot_start_puts_them_back_too
    mine = proc {}
    before = Signal.trap("TERM", mine)
    server = make_server(failures: [Errno::EADDRINUSE.new])
    assert_raises(NeverBlock::StartError) { NeverBlock::Server::Runner.new(server, out: @out).run }
    assert_same mine, Signal.trap("TERM", before || "DEFAULT")
  end

  private

  # Runs a server on a thread of its own; once it is announced, yields; then ends it.
  # @return [Integer] exit status
  def run_server(
    binds: ["http://127.0.0.1:0"], death: nil, settings: {}, notices: [], end_with: "TERM",
    again: nil
  )
    server = @server = make_server(binds: binds, death: death, settings: settings)
    announced = Thread::Queue.new
    @out.define_singleton_method(:flush) { announced << true }
    @runner = NeverBlock::Server::Runner.new(
      server, out: @out, notices: notices, later: later, again: again,
      abandon: ->(status) { @abandoned << status }, clock: -> { @now }
    )
    thread = Thread.new { @runner.run }
    Timeout.timeout(Patience::SECONDS) { announced.pop }
    yield
    if end_with
      @runner.signal(end_with)
      @fake.engine.requests_end
    end
    Timeout.timeout(Patience::SECONDS) { thread.value }
  end

  # The end of the time is in the test's hands.
  def later
    ->(seconds, &block) { @timers << [seconds, block] }
  end

  def make_server(binds: ["http://127.0.0.1:0"], failures: [], death: nil, settings: {})
    @fake = FakeNative.new(failures: failures, death: death)
    @log = FakeNative::Log.new
    config = NeverBlock::Config.new(binds: binds, **settings)
    NeverBlock::Server.new(config, ->(_env) {}, log: @log, native: @fake.to_module)
  end

  def send_signal(name)
    @runner.signal(name)
  end

  # The time of the first signal is noted after the drain has begun.
  def await_drained
    await(:drain) && await_taken
  end

  # What is handled after a signal tells that the signal was.
  def await_taken
    count = @log.text.scan("SIGUSR1").size
    send_signal("USR1")
    Patience.await("it is handled") { @log.text.scan("SIGUSR1").size > count }
    true
  end

  def await(call)
    Timeout.timeout(Patience::SECONDS) { Thread.pass until @fake.engine.called?(call) }
    true
  end
end
