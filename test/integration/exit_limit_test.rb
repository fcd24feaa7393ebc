# frozen_string_literal: true

# Tests that the command ends though a thread of the application is in a call of C that nothing can
# interrupt. Ruby alone waits for such a thread without a limit.

require_relative "../support/server_process"
require "minitest/autorun"

class ExitLimitTest < Minitest::Test
  APP = <<~RACKUP
    require "fiddle"
    pause = Fiddle::Function.new(Fiddle::Handle::DEFAULT["pause"], [], Fiddle::TYPE_INT)
    begun = Queue.new
    Thread.new { begun.push(true) && pause.call }
    begun.pop
    at_exit { warn "at_exit has run" }
    run ->(_env) { [200, {}, ["ok"]] }
  RACKUP

  def test_a_thread_that_does_not_end_does_not_keep_the_process
    server = ServerProcess.new(APP).start
    assert_equal 0, server.stop.exitstatus
    assert_match(/at_exit has run\n.*threads of this process do not end: exiting without them$/,
                 server.stderr)
  end

  def test_a_process_whose_threads_end_says_nothing
    server = ServerProcess.new("run ->(_env) { [200, {}, ['ok']] }").start
    assert_equal 0, server.stop.exitstatus
    refute_includes server.stderr, "do not end"
  end
end
