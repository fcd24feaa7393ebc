# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock"
require "open3"

class CompatNewRelicTest < Minitest::Test
  # The agent itself is off; what adds up times is there.
  ENVIRONMENT = { "NEW_RELIC_AGENT_ENABLED" => "false", "NEW_RELIC_LOG" => "stdout" }.freeze

  def run_with_agent(script)
    library = File.expand_path("../../../lib", __dir__)
    output, status = Open3.capture2e(
      ENVIRONMENT, RbConfig.ruby, "-I", library,
      "-rbundler/setup", "-rnewrelic_rpm", "-rneverblock", "-e", script
    )
    assert_predicate status, :success?, output
    output
  end

  def test_times_of_transactions_that_run_at_once_are_each_its_own
    output = run_with_agent(<<~RUBY)
      times = NewRelic::Agent::TransactionTimeAggregator
      times.singleton_class.prepend(Module.new do
        private def log_missing_elapsed_transaction_time = puts("missing")
      end)
      NB.run do
        5.times do
          Fiber.schedule do
            times.transaction_start
            sleep(0)
            now = Process.clock_gettime(Process::CLOCK_REALTIME)
            times.transaction_stop(now, NeverBlock::Scheduler.root.object_id)
          end
        end
      end
      puts "end"
    RUBY
    assert_equal ["end"], output.lines(chomp: true).last(1)
    refute_includes output, "missing"
  end

  def test_a_transaction_knows_its_fiber_by_what_its_time_is_stopped
    output = run_with_agent(<<~RUBY)
      NB.run do
        Fiber.schedule do
          transaction = NewRelic::Agent::Transaction.new(:web, {})
          id = transaction.instance_variable_get(:@starting_thread_id)
          p id == NeverBlock::Scheduler.root.object_id
        end
      end
    RUBY
    assert_equal "true", output.lines(chomp: true).last
  end

  def test_a_request_that_is_preempted_before_its_transaction_begins_keeps_its_own_path
    output = run_with_agent(<<~RUBY)
      require "rack"
      require "new_relic/agent/instrumentation/middleware_proxy"
      app = NewRelic::Agent::Instrumentation::MiddlewareProxy.wrap(->(_env) {}, true)
      NB.run do
        first, _second = %w[/first /second].map do |path|
          app.build_transaction_options({ "PATH_INFO" => path }, true)
        end
        puts first[:request].path_info
      end
    RUBY
    assert_equal "/first", output.lines(chomp: true).last
  end

  def test_a_line_is_recorded_while_another_fibers_is
    output = run_with_agent(<<~RUBY)
      require "logger"
      require "new_relic/agent/instrumentation/logger/instrumentation"
      own, shared = Array.new(2) do
        Logger.new($stderr).extend(NewRelic::Agent::Instrumentation::Logger)
      end
      NewRelic::Agent::Instrumentation::Logger.mark_skip_instrumenting(own)
      seen = []
      NB.run do
        shared.mark_skip_instrumenting
        Fiber.schedule { seen << shared.skip_instrumenting? << own.skip_instrumenting? }
        seen << shared.skip_instrumenting?
        shared.clear_skip_instrumenting
        seen << shared.skip_instrumenting?
      end
      p seen
    RUBY
    assert_equal "[false, true, true, false]", output.lines(chomp: true).last
  end

  def test_work_of_nb_offload_and_of_a_pool_belongs_to_the_transaction_that_calls_it
    output = run_with_agent(<<~RUBY)
      require "new_relic/agent/instrumentation/thread/prepend"
      require "new_relic/agent/instrumentation/fiber/prepend"
      Thread.prepend(NewRelic::Agent::Instrumentation::MonitoredThread::Prepend)
      Fiber.prepend(NewRelic::Agent::Instrumentation::MonitoredFiber::Prepend)
      tracer = NewRelic::Agent::Tracer
      pool = NB::FiberPool.new(1)
      NB.run do
        seen = [1, 2, nil].map do |number|
          begun = number && NewRelic::Agent::Transaction.new(:web, {})
          tracer.state.current_transaction = begun
          pooled = Queue.new
          pool.spawn { sleep(0) && pooled << tracer.current_transaction.equal?(begun) }
          [NB.offload { tracer.current_transaction.equal?(begun) }, pooled.pop]
        end
        p seen
      end
    RUBY
    assert_equal "[[true, true], [true, true], [true, true]]", output.lines(chomp: true).last
  end

  # An agent takes what a new fiber runs for a part of the request that makes it.
  def test_fibers_of_the_server_are_made_by_rubys_own_initialize
    output = run_with_agent(<<~RUBY)
      Fiber.prepend(Module.new { def initialize(*, **) = puts("made") || super })
      require "neverblock/server"
      log_fd = File.open(File::NULL, "w").fileno
      config = NeverBlock::Config.new(binds: ["http://127.0.0.1:0"], log_fd: log_fd)
      server = NeverBlock::Server.new(config, ->(_env) { [200, {}, ["hello"]] }).start
      require "net/http"
      puts Net::HTTP.get(URI(server.urls.first))
      server.stop
    RUBY
    assert_equal ["hello"], output.lines(chomp: true).last(1)
    refute_includes output, "made"
  end
end
