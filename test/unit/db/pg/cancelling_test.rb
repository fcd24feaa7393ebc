# frozen_string_literal: true

require_relative "../../../support/unit"
require_relative "../../../support/held_relay"
require_relative "../../../support/patience"
require_relative "../../../support/services"
require "pg"
require "neverblock"

# libpq connects anew for a cancel request, with all that it computes and looks up.
class PgCancellingTest < Minitest::Test
  # libpq 18 waits for 60 s.
  SECONDS = Patience::SECONDS / 2
  PARAMETERS = { user: "postgres", dbname: "postgres" }.freeze

  def test_a_cancel_request_is_made_off_the_loops_thread
    skip "libpq before 17 has no connection for a cancel" unless defined?(PG::CancelConnection)

    NeverBlock.run do
      connection = PG.connect(Services.postgresql.url)
      connection.send_query("select pg_sleep(60)")
      threads = threads_of(PG::CancelConnection, %i[start poll]) { connection.neverblock_cancel }
      assert_raises(PG::QueryCanceled) { connection.get_last_result }
      connection.close

      refute_empty(threads)
      refute_includes(threads, Thread.current)
    end
  end

  # A server that is stopped answers no cancel request. Connections are given back in a shield.
  def test_a_server_that_does_not_answer_holds_nobody_up
    relay = HeldRelay.new(Services.postgresql.port)
    within_time do
      connection = PG.connect(**PARAMETERS, host: "127.0.0.1", port: relay.port)
      connection.send_query("select pg_sleep(600)")
      relay.hold(from: :client)
      NeverBlock::Compat.shielded { connection.neverblock_abandon }

      assert_predicate connection, :finished?
    end
  ensure
    relay&.close
  end

  # What ends the request while the server is asked is not lost.
  def test_what_comes_from_outside_meanwhile_is_raised
    relay = HeldRelay.new(Services.postgresql.port)
    seen = nil
    within_time do
      connection = PG.connect(**PARAMETERS, host: "127.0.0.1", port: relay.port)
      connection.send_query("select pg_sleep(600)")
      held = relay.hold(from: :client)
      fiber = Fiber.schedule do
        connection.neverblock_abandon
      rescue NB::ClientGone => e
        seen = e
      end
      held.pop
      fiber.raise(NB::ClientGone)
      sleep(0.001) while fiber.alive?

      assert_predicate connection, :finished?
    end
    assert_kind_of NB::ClientGone, seen
  ensure
    relay&.close
  end

  private

  def within_time(&block)
    thread = Thread.new { NeverBlock.run(&block) }
    thread.report_on_exception = false
    assert thread.join(SECONDS), "not over after #{SECONDS} s"
    thread.value
  ensure
    thread&.kill
  end

  # The threads on which functions in C of a class are called.
  def threads_of(owner, names)
    threads = []
    calls = TracePoint.new(:c_call) do |point|
      threads << Thread.current if point.defined_class == owner && names.include?(point.method_id)
    end
    calls.enable
    yield
    threads
  ensure
    calls.disable
  end
end
