# frozen_string_literal: true

# How many connections a pool may have: of what database.yml says and what the database takes.

require "monitor"
require_relative "../../../support/clock"
require_relative "../../../support/unit"
require "neverblock"
require "active_record"

class PoolSizeTest < Minitest::Test
  Configuration = Struct.new(:configuration_hash, :limit, :name) do
    attr_reader :asked

    def new_connection
      raise limit, "down" if limit.is_a?(Class)

      (@asked ||= []) << self
      self
    end

    def select_value(_question, _name)
      limit
    end

    def disconnect!; end
  end

  # What has the name of who has made the pool, until 7.2 and since.
  Owned = Struct.new(:connection_class)
  Described = Struct.new(:connection_descriptor)

  Pool = Struct.new(:db_config, :size) do
    include MonitorMixin

    alias_method :neverblock_size=, :size=
    attr_writer :pool_config

    def checkout_timeout = 5

    def pool_config
      @pool_config ||= Owned.new(ActiveRecord::Base)
    end
  end

  class Serving < NeverBlock::Serving
    attr_reader :said

    def info(text)
      (@said ||= []) << text
    end
    alias warn info
  end

  def setup
    @before = NeverBlock.serving # a server that another test has left, as Capybara's
    NeverBlock.serving = nil
  end

  def teardown
    NeverBlock.serving = @before
  end

  def test_a_pool_nobody_has_thought_of_gets_half_of_what_the_database_takes
    [{}, { pool: 5 }, { pool: "5" }, { pool: "auto" }, { max_connections: 5 }].each do |given|
      assert_equal 48, settled(given, limit: 97).size, given
    end
    assert_match(
      /\AActiveRecord \(primary\): up to 48 connections, as the database takes 97;/,
      @serving.said.fetch(0)
    )
  end

  def test_workers_share_it
    assert_equal 12, settled({}, limit: 97, workers: 4).size
    assert_match(/up to 12 connections in each of 4 workers/, @serving.said.fetch(0))
  end

  def test_no_pool_is_larger_than_there_are_fibers_or_than_does_any_good
    assert_equal 3, settled({}, limit: 97, fibers: 3).size
    assert_equal NeverBlock::DB::ActiveRecord::PoolSize::MOST, settled({}, limit: 10_000).size
  end

  def test_a_small_database_is_not_asked_for_more_than_it_has
    assert_equal 1, settled({}, limit: 6, workers: 4).size
  end

  def test_a_number_of_the_applications_own_is_kept
    assert_equal 12, settled({ pool: 12 }, limit: 97).size
    assert_equal 3, settled({ pool: 3 }, limit: 97).size
    assert_nil @serving.said
  end

  def test_more_connections_than_the_database_takes_are_warned_of
    assert_equal 60, settled({ pool: 60 }, limit: 97, workers: 2).size
    assert_match(
      /2 workers may open 120 connections, and the database takes 97: lower `pool:`/,
      @serving.said.fetch(0)
    )
  end

  def test_a_database_that_is_down_leaves_it_for_a_later_connection
    [ActiveRecord::ConnectionNotEstablished, ActiveRecord::NoDatabaseError].each do |error|
      Clock.rule do |clock|
        pool = settled({}, limit: error)

        assert_equal 5, pool.size
        pool.db_config.limit = 97
        @size.settle
        assert_equal 5, pool.size
        clock.now += 1
        @size.settle

        assert_equal 48, pool.size
      end
    end
  end

  def test_one_asks_and_the_others_wait_for_the_answer
    NeverBlock.serving = @serving = Serving.new(fibers: 1024)
    slow = Configuration.new({ adapter: "postgresql" }, 97, "primary")
    gate = Thread::Queue.new
    slow.define_singleton_method(:select_value) { |*| gate.pop && limit }
    pool = Pool.new(slow, 5)
    size = NeverBlock::DB::ActiveRecord::PoolSize.new(pool)
    sizes = []
    NB.run do
      3.times do
        Fiber.schedule do
          size.settle
          sizes << pool.size
        end
      end
      assert_empty sizes
      pool.synchronize { size.settle } # never waits for one that may wait for the pool's lock
      gate << true
    end

    assert_equal [48, 48, 48], sizes
    assert_equal 1, slow.asked.size
  end

  def test_who_is_ended_while_he_asks_leaves_it_to_another
    NeverBlock.serving = @serving = Serving.new(fibers: 1024)
    slow = Configuration.new({ adapter: "postgresql" }, 97, "primary")
    waits = true
    slow.define_singleton_method(:select_value) { |*| waits ? sleep : limit }
    pool = Pool.new(slow, 5)
    size = NeverBlock::DB::ActiveRecord::PoolSize.new(pool)
    Clock.rule do |clock|
      NB.run { assert_raises(NB::DeadlineExceeded) { NB.deadline(0.001) { size.settle } } }
      waits = false
      clock.now += 1
      size.settle
    end

    assert_equal 48, pool.size
  end

  def test_a_database_that_does_not_say_is_asked_once_and_leaves_it_as_it_is
    pool = settled({}, limit: nil)
    @size.settle

    assert_equal 5, pool.size
    assert_equal 1, pool.db_config.asked.size
  end

  def test_what_is_no_number_of_connections_is_said_and_taken_as_auto
    ["twelve", "12x", "0", 0, -1, 1.5].each do |written|
      assert_equal 48, settled({ pool: written }, limit: 97).size, written
      assert_equal "ActiveRecord (primary): `pool: #{written}` in database.yml is no number of " \
                   "connections: 1 or more is wanted, or auto; taken as auto", @serving.said.first
    end
    settled({ adapter: "sqlite3", pool: "many" }, limit: nil)
    assert_equal 1, @serving.said.size
  end

  # ActiveRecord 8.1.
  def test_less_than_nothing_is_no_limit_where_the_pool_has_no_size
    NeverBlock.serving = @serving = Serving.new(fibers: 1024)
    configuration = Configuration.new(
      { adapter: "postgresql", max_connections: -1 }, 97, "primary"
    )
    pool = Pool.new(configuration, nil)
    NeverBlock::DB::ActiveRecord::PoolSize.new(pool).settle

    assert_nil pool.size
    assert_nil @serving.said
  end

  def test_the_pool_that_looks_for_pending_migrations_is_left_alone
    [Owned, Described].each do |config|
      NeverBlock.serving = @serving = Serving.new(fibers: 1024)
      pool = Pool.new(Configuration.new({ adapter: "postgresql" }, 97, "primary"), 5)
      pool.pool_config = config.new(ActiveRecord::PendingMigrationConnection)
      NeverBlock::DB::ActiveRecord::PoolSize.new(pool).settle

      assert_nil pool.db_config.asked
    end
  end

  def test_it_is_asked_once
    pool = settled({}, limit: 97)
    @size.settle

    assert_equal 1, pool.db_config.asked.size
  end

  def test_without_a_server_in_this_process_and_for_other_databases_nothing_is_asked
    pool = Pool.new(Configuration.new({ adapter: "postgresql" }, 97, "primary"), 5)
    NeverBlock::DB::ActiveRecord::PoolSize.new(pool).settle

    assert_nil pool.db_config.asked
    assert_nil settled({ adapter: "sqlite3" }, limit: 97).db_config.asked
  end

  private

  def settled(given, limit:, **serving)
    NeverBlock.serving = @serving = Serving.new(fibers: 1024, **serving)
    configuration = Configuration.new(
      { adapter: "neverblock_postgresql", **given }, limit, "primary"
    )
    pool = Pool.new(configuration, (given[:pool] || given[:max_connections] || 5).to_i)
    pool.size = 5 if pool.size.zero?
    @size = NeverBlock::DB::ActiveRecord::PoolSize.new(pool)
    @size.settle
    pool
  end
end
