# frozen_string_literal: true

require "test_helper"
require "neverblock"
require "sqlite3"
require "support/killed_fiber"
require "support/patience"
require "support/scheduler_harness"
require "tmpdir"

# sqlite3 on our loop: what ends a fiber in the busy handler is raised from the call that waited.
class SqliteTest < Minitest::Test
  include SchedulerHarness

  def setup
    @folder = Dir.mktmpdir("nb-sqlite-")
    @path = File.join(@folder, "numbers.db")
    @asked = 0
    @reader = SQLite3::Database.new(@path)
    @reader.execute_batch("create table numbers (number integer); insert into numbers values (1)")
  end

  def teardown
    [@writer, @reader].compact.each(&:close)
    FileUtils.remove_entry(@folder)
  end

  # Each ends a statement whose first row is taken, and which commits only then: in a rollback
  # journal a reader holds that up.
  {
    "close" => lambda do |writer|
      writer.get_first_value("insert into numbers values (2) returning number")
    end,
    "reset" => lambda do |writer|
      statement = writer.prepare("insert into numbers values (2) returning number")
      statement.step
      statement.reset!
    ensure
      statement.close
    end
  }.each do |name, write|
    define_method("test_a_write_that_is_left_in_its_#{name}_raises_and_the_next_call_does_not") do
      on_loop do
        hold = @reader.prepare("select number from numbers")
        hold.step
        assert_equal "enough", cancelled_while_busy { write.call(@writer) }.message
        hold.close
        assert_equal [[1]], @writer.execute("select number from numbers")
        assert_equal 2, write.call(@writer) if name == "close"
      end
    end
  end

  def test_a_backup_that_is_left_raises_and_the_next_call_does_not
    on_loop do
      copy = SQLite3::Database.new(File.join(@folder, "copy.db"))
      backup = SQLite3::Backup.new(copy, "main", @writer, "main")
      @reader.execute("begin exclusive")
      assert_equal "enough", cancelled_while_busy { backup.step(-1) }.message
      @reader.execute("commit")
      assert_equal [[1]], @writer.execute("select number from numbers")
      assert_equal SQLite3::Constants::ErrorCode::DONE, backup.step(-1)
      backup.finish
      assert_equal [[1]], copy.execute("select number from numbers")
      copy.close
    end
  end

  # SQLite locks a connection for the thread that calls it. If that stayed so, another thread would
  # wait for ever, and keep Ruby's lock.
  def test_a_fiber_that_is_killed_while_busy_ends_and_leaves_a_connection_that_threads_can_use
    ruby = [RbConfig.ruby, *$LOAD_PATH.map { |path| "-I#{path}" }, "-W0", "-e", KILLED, @path]
    child = IO.popen(ruby)
    assert child.wait_readable(Patience::SECONDS), "it hangs"
    assert_equal "[:ended, [[1]]]", child.read
  ensure
    Process.kill(:KILL, child.pid)
    child.close
  end

  KILLED = <<~'RUBY'
    require "neverblock"
    require "sqlite3"
    require "support/killed_fiber"
    asked = 0
    seen = []
    Thread.new do
      Fiber.set_scheduler(NeverBlock::Scheduler.new)
      Fiber.schedule do
        reader, writer = Array.new(2) { SQLite3::Database.new(ARGV.first) }
        writer.busy_handler { asked += 1 }
        reader.execute("begin exclusive")
        killed = Fiber.schedule do
          writer.execute("insert into numbers values (2)")
        rescue Exception
          seen << :rescued
        ensure
          seen << :ended
        end
        sleep(0) while asked.zero?
        KilledFiber.kill(killed)
        sleep(0) while killed.alive?
        reader.execute("commit")
        seen << Thread.new { writer.execute("select number from numbers") }.value
      end
    end.join
    print seen
  RUBY

  private

  def on_loop(&block)
    in_scheduler do
      fiber do
        @writer = SQLite3::Database.new(@path)
        @writer.busy_handler { @asked += 1 }
        block.call
      end
    end
  end

  # Calls the block in a fiber, and cancels it when SQLite asks the busy handler.
  # @return [Exception] what the block was left by
  def cancelled_while_busy
    ended = Thread::Queue.new
    caller = Fiber.schedule { ended << NeverBlock::Outcome.of { yield } }
    Patience.await("SQLite waits") { @asked.positive? }
    caller.raise(NB::Cancelled, "enough")
    ended.pop.error || flunk("nothing was raised")
  end
end
