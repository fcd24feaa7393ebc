# frozen_string_literal: true

require_relative "../../../support/unit"
require_relative "../../../support/services"
require "pg"
require "neverblock"

# libpq connects anew for a cancel request, with all that it computes and looks up.
class PgCancellingTest < Minitest::Test
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

  private

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
