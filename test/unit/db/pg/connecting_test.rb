# frozen_string_literal: true

require_relative "../../../support/held_relay"
require_relative "../../../support/killed_fiber"
require_relative "../../../support/patience"
require_relative "../../../support/scheduler_harness"
require_relative "../../../support/services"
require "pg"

# A fiber that is killed while it connects leaves no connection behind.
class PgConnectingTest < Minitest::Test
  include SchedulerHarness

  PARAMETERS = { user: "postgres", dbname: "postgres", application_name: "left",
                 sslmode: "disable", gssencmode: "disable" }.freeze

  def setup
    @relay = HeldRelay.new(Services.postgresql.port)
  end

  def teardown
    @relay.close
  end

  def test_killed_while_the_server_answers
    watcher = PG.connect(Services.postgresql.url)
    in_scheduler do
      fiber do
        held = @relay.hold
        killed = Fiber.schedule { connect }
        held.pop
        Patience.await("the session is there") { sessions(watcher) == 1 }
        KilledFiber.kill(killed)
        Patience.await("the session has ended") { sessions(watcher).zero? }
      end
    end
  ensure
    watcher&.close
  end

  def test_killed_while_libpq_looks_up_the_server
    made = Thread::Queue.new
    gate = Thread::Queue.new
    calls = TracePoint.new(:c_return) do |point|
      next unless point.method_id == :connect_start

      made << point.return_value
      gate.pop
    end
    in_scheduler do
      fiber do
        calls.enable
        killed = Fiber.schedule { connect }
        connection = made.pop
        KilledFiber.kill(killed)
        3.times { sleep(0) }
        refute_predicate connection, :finished?
        gate << true
        sleep(0) while killed.alive?
        assert_predicate connection, :finished?
      ensure
        calls.disable
      end
    end
  end

  private

  def connect
    PG.connect(**PARAMETERS, host: "127.0.0.1", port: @relay.port)
  end

  def sessions(watcher)
    Integer(watcher.exec("select count(*) from pg_stat_activity where application_name = 'left'")
                   .getvalue(0, 0))
  end
end
