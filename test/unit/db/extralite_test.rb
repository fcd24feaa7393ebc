# frozen_string_literal: true

# How a statement of extralite waits for a lock, on a database of the same shape.
# test/gems/uses/extralite.rb does it with the gem.

require "support/scheduler_harness"
require "neverblock"
require "neverblock/db/extralite"

module Extralite
  BusyError = Class.new(StandardError) unless const_defined?(:BusyError)
end

class ExtraliteTest < Minitest::Test
  include SchedulerHarness

  # Fails while another has the lock, if SQLite is not to wait; else notes that it waited itself.
  class Database
    attr_reader :neverblock_lock, :ran, :waited
    attr_writer :locked, :active, :neverblock_native_timeout

    def initialize(milliseconds = 60_000)
      @ran = []
      @waited = []
      @neverblock_native_timeout = milliseconds / 1000.0
      @neverblock_lock = NeverBlock::DB::Extralite::Lock.new(self, milliseconds)
    end

    def closed? = false
    def transaction_active? = @active
    def native = @neverblock_native_timeout

    def execute(sql)
      @ran << sql
      raise Extralite::BusyError if @locked && native.zero?

      @waited << sql if @locked
      yield 1 if block_given?
      sql
    end

    def query(sql)
      @ran << sql
      yield 1
      raise Extralite::BusyError
    end
  end

  NeverBlock::DB::Extralite.send(:wrap, Database, %i[execute query]) do |database, arguments|
    [database.neverblock_lock, arguments.first]
  end

  def setup
    @database = Database.new
  end

  # Its holder goes on when it was tried.
  def beside_a_holder
    @database.locked = true
    in_scheduler do
      fiber do
        sleep(0) until @database.ran.size > 2
        @database.locked = false
      end
      fiber { yield @database }
    end
  end

  def test_a_locked_statement_parks_and_is_run_again
    beside_a_holder do |database|
      rows = []
      assert_equal("insert", database.execute("insert") { |row| rows << row })
      assert_equal [[1], 60.0], [rows, database.native]
    end
    assert_equal ["insert"], @database.ran.uniq
    assert_empty @database.waited
  end

  def test_the_limit_ends_it
    @database = Database.new(2)
    @database.locked = true
    in_scheduler { fiber { assert_raises(Extralite::BusyError) { @database.execute("insert") } } }
    assert_operator @database.ran.size, :>, 1
    assert_in_delta(0.002, @database.native)
  end

  def test_after_a_row_nothing_is_run_again
    in_scheduler do
      fiber { assert_raises(Extralite::BusyError) { @database.query("insert returning") { nil } } }
    end
    assert_equal 1, @database.ran.size
  end

  def test_within_a_transaction_only_its_first_statement_and_its_end_wait
    in_scheduler do
      fiber do
        @database.execute("begin")
        @database.active = true
        @database.locked = true
        waits("select", :does)
        waits("insert", :does_not)
        waits("commit", :does)
      end
    end
  end

  def test_several_statements_and_the_limit_itself_are_left_to_sqlite
    @database.locked = true
    texts = ["delete; insert", "pragma busy_timeout"]
    in_scheduler { fiber { texts.each { |sql| @database.execute(sql) } } }
    assert_equal [texts, texts], [@database.ran, @database.waited]
  end

  def test_a_semicolon_at_the_end_is_no_second_statement
    beside_a_holder { |database| database.execute("insert ;\n") }
    assert_empty @database.waited
  end

  def test_on_a_plain_thread_sqlite_waits
    @database.locked = true
    @database.execute("insert")
    assert_equal ["insert"], @database.waited
  end

  def test_the_rows_block_may_break
    in_scheduler do
      fiber { assert_equal(3, @database.execute("select") { break 3 }) }
    end
    assert_equal 60.0, @database.native
  end

  private

  def waits(sql, whether)
    @database.ran.clear
    if whether == :does
      fiber { (sleep(0) while @database.ran.size < 2) || @database.locked = false }
      @database.execute(sql)
      @database.locked = true
    else
      assert_raises(Extralite::BusyError) { @database.execute(sql) }
      assert_equal [sql], @database.ran
    end
  end
end
