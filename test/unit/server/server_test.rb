# frozen_string_literal: true

require_relative "../../support/fake_native"
require_relative "../../support/patience"
require "neverblock/server"

class ServerTest < Minitest::Test
  def test_it_serves_from_start_to_stop
    server = make.start
    assert_equal ["http://127.0.0.1:40123"], server.urls
    assert_predicate server, :running?
    assert_equal 7, server.stats[:requests]
    @fake.engine.requests_end
    assert server.stop(timeout: Patience::SECONDS)
    refute_predicate server, :running?
    assert_equal %i[listen_tcp start drain join close], @fake.engine.calls.map(&:first)
  end

  def test_the_engine_is_given_the_configuration
    make(idle_timeout_ms: 5).start.stop_now
    assert_equal [5, 2], @fake.engine.options.values_at(:idle_timeout_ms, :log_fd)
  end

  def test_compression_is_refused_where_the_build_has_no_library
    error = assert_raises(NeverBlock::ConfigError) { make(compress: 1).start }
    assert_match(/built without zlib, brotli and zstd; install .*zlib1g-dev/, error.message)
    make(built: { gzip: true }, compress: 1, compressed_types: %w[text/*]).start.stop_now
    assert_includes @fake.engine.calls, [:compress_type, "text/*"]
  end

  def test_fibers_are_shared_out_among_the_executors
    server = make(fibers: 10, executors: 3).start
    executors = @fake.executors.reject(&:helper?)
    assert_equal [4, 3, 3], (executors.map { |executor| executor.options[:fibers] })
    server.stop_now
  end

  def test_each_spare_helps_the_one_before_it_and_ends_after_the_first_of_all
    before = Thread.list
    server = make(spares: 2).start
    first, *spares = @fake.executors.reject { |executor| executor.options.key?(:lane) }
    assert_equal [first, spares.first], spares.map(&:helps)
    assert_equal %w[nb-spare-0 nb-spare-1],
                 (Thread.list - before).filter_map(&:name).grep(/\Anb-spare/).sort
    assert server.stop_now
  end

  def test_without_spares_there_is_one_executor
    make(spares: 0, own_lanes: false).start.stop_now
    assert_equal 1, @fake.executors.size
  end

  def test_executors_run_on_threads_of_their_own_with_names
    before = Thread.list
    server = make(executors: 2).start
    assert_equal %w[nb-executor-0 nb-executor-1],
                 (Thread.list - before).filter_map(&:name).grep(/\Anb-executor/).sort
    server.stop_now
  end

  def test_a_stop_that_takes_too_long_cuts
    server = make.start
    assert server.stop(timeout: 0)
    assert_equal %i[drain stop_now join close], @fake.engine.calls.map(&:first).last(4)
  end

  def test_the_end_of_the_last_executor_is_told_once
    ends = Thread::Queue.new
    server = make(executors: 3).start { ends << :end }
    server.stop_now
    Timeout.timeout(Patience::SECONDS) { ends.pop }
    assert server.wait(Patience::SECONDS)
    assert_empty ends
  end

  def test_an_executor_that_dies_takes_the_server_with_it_and_is_logged
    server = make(death: ArgumentError.new("scheduler lost")).start
    assert server.wait(Patience::SECONDS)
    assert_instance_of ArgumentError, server.failure
    assert @fake.engine.called?(:stop_now)
    failure = "executor 0 has failed and ends the server: ArgumentError: scheduler lost"
    assert_match(/\Aneverblock: \S+Z error: #{failure}/, server.log.text)
  end

  def test_an_address_that_cannot_be_had_leaves_nothing_open
    server = make(failures: [Errno::EADDRINUSE.new])
    assert_raises(NeverBlock::StartError) { server.start }
    assert_equal :close, @fake.engine.calls.last.first
    assert_empty @fake.executors
    assert server.wait(0)
  end

  def test_a_server_starts_once
    server = make.start
    assert_raises(NeverBlock::Error) { server.start }
    server.stop_now
  end

  def test_waiting_ends_with_its_time
    server = make.start
    refute server.wait(0)
    server.stop_now
  end

  def test_drain_and_cut_before_start_are_nothing
    server = make
    server.drain
    server.cut
    assert_empty server.stats
  end

  # Threads of an ended server have no name that the next test could count.
  def teardown
    @fake&.engine&.requests_end
    @servers&.each { |server| assert server.wait(Patience::SECONDS) }
  end

  private

  def make(failures: [], death: nil, built: {}, **settings)
    @fake = FakeNative.new(failures: failures, death: death)
    @fake.built = built
    config = NeverBlock::Config.new(binds: ["http://127.0.0.1:0"], **settings)
    server = NeverBlock::Server.new(config, ->(_env) {}, native: @fake.to_module)
    (@servers ||= []) << server
    server
  end
end
