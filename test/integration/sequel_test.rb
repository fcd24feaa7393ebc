# frozen_string_literal: true

# Sequel in fibers with the real drivers. The database (locks that a test holds) tells who is inside
# at once, never the clock.

require_relative "../unit/verbs/verbs_case"
require_relative "../support/gem_bundle"
require_relative "../support/held_relay"
require_relative "../support/services"
require "open3"
require "sequel"
Sequel.extension :neverblock, :migration

class SequelDriversCase < VerbsCase
  POOL = 12

  def setup
    self.class.prepare
    @db = Sequel.connect(url, max_connections: POOL, keep_reference: false)
  end

  def teardown
    @db.disconnect
    self.class.keeper.disconnect
  end

  class << self
    # Made at the first test: a service that is not there is its failure. A plain connection, of the
    # test's own thread, that holds and watches locks.
    attr_reader :keeper

    def prepare
      @keeper ||= Sequel.connect(url, max_connections: 1, keep_reference: false)
    end
  end

  def url
    self.class.url
  end

  def keeper
    self.class.keeper
  end

  def join(*fibers)
    sleep(0.001) while fibers.flatten.any?(&:alive?)
  end

  # Fiber.schedule whose exception fails the test.
  def fiber(&block)
    Fiber.schedule do
      block.call
    rescue Exception => e # rubocop:disable Lint/RescueException -- the test's fiber raises it again
      (@errors ||= []) << e
    end
  end

  def in_loop
    @errors = []
    run_loop { yield(self) }
    raise @errors.first if @errors.any?
  end

  # Twice as many fibers as connections. Each has to wait in the database for the test. So all
  # connections are inside at once, the other fibers in line, and whatever else the loop has to do
  # goes on.
  def assert_all_inside_at_once(waiting)
    answers = []
    in_loop do
      fibers = Array.new(2 * POOL) { |number| fiber { answers << wait_in_database(number) } }
      NB.offload { waiting.call(POOL) }
      assert_equal POOL, @db.pool.size
      assert_equal POOL, @db.pool.num_waiting
      NB.offload { let_go }
      join(fibers)
    end
    assert_equal [*0...(2 * POOL)], answers.sort
    assert_equal 0, @db.pool.num_waiting
  end

  # Until the database says so.
  def await(what)
    limit = NeverBlock::Deadline.now + SECONDS
    until yield
      flunk "not #{what}" if NeverBlock::Deadline.now > limit
      sleep 0.005
    end
  end

  # Many fibers, each with numbers of its own, of which some are ended in the middle: whoever gets
  # an answer gets his own.
  def assert_answers_never_cross(sql)
    wrong = []
    ended = answered = 0
    in_loop do
      fibers = Array.new(60) do |number|
        fiber do
          5.times do |turn|
            mine = (number * 100) + turn
            NB.deadline((number % 3).zero? ? 0.0005 * turn : nil) do
              @db.fetch(sql, mine).get == mine ? answered += 1 : wrong << mine
            end
          rescue NB::DeadlineExceeded
            ended += 1
          end
        end
      end
      join(fibers)
      assert_equal 0, @db.pool.num_waiting
      Array.new(POOL) { |number| assert_equal number, @db.fetch(sql, number).get }
    end
    assert_empty wrong
    assert_equal 300, answered + ended
  end
end

class SequelPostgresqlTest < SequelDriversCase
  LOCK = 4711

  def self.url
    Services.postgresql.url
  end

  def setup
    super
    keeper.run("select pg_advisory_lock(#{LOCK})")
  end

  def wait_in_database(number)
    sql = "select pg_advisory_lock_shared(#{LOCK}), pg_advisory_unlock_shared(#{LOCK}), " \
          "?::int as number"
    @db[sql, number].first[:number]
  end

  def let_go
    keeper.run("select pg_advisory_unlock(#{LOCK})")
  end

  def waiting
    keeper["select count(*) from pg_stat_activity where wait_event = 'advisory'"].get
  end

  def test_as_many_queries_as_connections_are_inside_at_once
    assert_all_inside_at_once(->(count) { await("#{count} waiting") { waiting == count } })
  end

  def test_as_many_transactions_as_connections_are_inside_at_once_each_on_its_own
    backends = []
    in_loop do
      fibers = Array.new(POOL) do |number|
        fiber do
          @db.transaction do
            before = @db["select pg_backend_pid()"].get
            wait_in_database(number)
            assert_equal before, @db["select pg_backend_pid()"].get
            backends << before
          end
        end
      end
      NB.offload { await("all waiting") { waiting == POOL } }
      NB.offload { let_go }
      join(fibers)
    end
    assert_equal POOL, backends.uniq.size
  end

  def test_answers_never_cross
    assert_answers_never_cross("select ?::int")
  end

  def test_two_hundred_fibers_and_a_pool_nobody_has_set
    @db.disconnect
    @db = Sequel.connect(url, keep_reference: false)
    answers = []
    in_loop do
      fibers = Array.new(200) do |number|
        fiber { answers << @db["select ?::int, pg_sleep(0.002)", number].first[:int4] }
      end
      join(fibers)
    end
    assert_equal [*0...200], answers.sort
    assert_equal 4, @db.pool.size
  end

  # @param keeps [Boolean] whether the connection stays, because its query was cancelled
  # @yield what a fiber does that is ended while it waits in the database
  def end_in_the_middle(how, keeps: false)
    before = nil
    in_loop do
      before = @db["select pg_backend_pid()"].get
      victim = fiber { assert_raises(Failure, NB::DeadlineExceeded) { yield } }
      NB.offload { await("it waits") { waiting == 1 } }
      how.call(victim)
      join(victim)
      # The lock is still held: what the fiber waited for is ended in the server too, and nobody
      # waits with it.
      NB.offload { await("it waits no more") { waiting.zero? } }
      assert_equal keeps, before == @db["select pg_backend_pid()"].get
      assert_equal 1, @db.pool.size
      sql = "select count(*) from pg_stat_activity where state like 'idle in transaction%'"
      assert_equal 0, keeper[sql].get
    end
  end

  RAISE = ->(fiber) { fiber.raise(Failure) }

  # As a request that is ended from outside.
  class Outside < Failure
    include NeverBlock::FromOutside
  end
  END_IT = ->(fiber) { fiber.raise(Outside) }

  def test_a_transaction_that_is_ended_from_outside_costs_its_connection
    end_in_the_middle(END_IT) { @db.transaction { wait_in_database(1) } }
  end

  def test_a_query_that_is_left_in_the_middle_costs_its_connection_and_nobody_elses
    end_in_the_middle(RAISE) { wait_in_database(1) }
  end

  def test_a_transaction_that_is_left_is_rolled_back_and_its_query_cancelled
    @db.run("create table if not exists half_done (id int)")
    end_in_the_middle(RAISE, keeps: true) do
      @db.transaction do
        @db[:half_done].insert(id: 1)
        wait_in_database(1)
      end
    end
    assert_equal 0, @db[:half_done].count
  end

  def test_a_transaction_goes_on_after_a_timeout
    @db.run("create table if not exists sequel_went_on (id int)")
    in_loop do
      @db.transaction do
        @db[:sequel_went_on].insert(id: 1)
        assert_raises(Timeout::Error) { Timeout.timeout(0.01) { @db.get(Sequel.lit("pg_sleep(0.3)")) } }
        assert_raises(Timeout::Error) do
          @db.transaction(savepoint: true) do
            @db[:sequel_went_on].insert(id: 2)
            Timeout.timeout(0.01) { @db.get(Sequel.lit("pg_sleep(0.3)")) }
          end
        end
        @db[:sequel_went_on].insert(id: 3)
      end
      assert_equal [1, 3], @db[:sequel_went_on].select_order_map(:id)
    end
  ensure
    @db.run("drop table if exists sequel_went_on")
  end

  def test_a_connection_that_its_holder_gives_back_in_the_middle_of_an_answer_is_closed
    end_in_the_middle(RAISE) do
      @db.synchronize do
        wait_in_database(1)
      rescue Failure
        nil
      end
      raise Failure
    end
  end

  def test_so_does_a_prepared_statement
    ps = @db["select pg_advisory_lock_shared(?), 1 as one", :$lock].prepare(:select, :waits)
    end_in_the_middle(RAISE) { ps.call(lock: LOCK) }
  end

  def test_so_does_a_copy
    end_in_the_middle(RAISE) do
      @db.copy_table("copy (select pg_advisory_lock_shared(#{LOCK})::text) to stdout")
    end
  end

  # Cancelled is no StandardError.
  def test_what_ends_a_copy_from_outside_is_raised
    @db.run("create table if not exists copied (id int)")
    in_loop do
      inside = Thread::Queue.new
      waits = ->(*) { (inside << true) && sleep }
      copies = [
        -> { @db.copy_table("copy (select generate_series(1, 10)) to stdout", &waits) },
        -> { @db.copy_into(:copied, &waits) }
      ]
      copies.product([NB::ClientGone, NB::DeadlineExceeded, NB::Cancelled]) do |copy, error|
        seen = nil
        victim = Fiber.schedule { seen = NeverBlock::Outcome.of { copy.call }.error }
        inside.pop
        victim.raise(error)
        join(victim)
        assert_instance_of error, seen
      end
      Array.new(POOL) { |number| assert_equal number, @db["select ?", number].get }
    end
  ensure
    @db.run("drop table copied")
  end

  # After Timeout its CLOSE waits for the rest of the answer, as on threads.
  def test_so_does_a_cursor_that_is_ended_from_outside
    end_in_the_middle(END_IT) do
      sql = "select n, case when n > 5 then pg_advisory_lock_shared(#{LOCK})::text end " \
            "from generate_series(1, 10) n"
      @db[sql].use_cursor(rows_per_fetch: 3).each { |row| row }
    end
  end

  if Fiber.method_defined?(:kill)
    def test_so_does_a_killed_fiber
      in_loop do
        victim = Fiber.schedule { @db.transaction { wait_in_database(1) } }
        NB.offload { await("it waits") { waiting == 1 } }
        victim.kill
        join(victim)
        NB.offload { await("it waits no more") { waiting.zero? } }
        assert_equal 1, @db["select 1"].get
      end
    end
  end

  # The cancel request of a rollback waits at the relay.
  def test_what_ends_a_fiber_while_it_rolls_back_is_raised
    relay = HeldRelay.new(Services.postgresql.port)
    db = Sequel.connect(url.sub(/:\d+\//, ":#{relay.port}/"), keep_reference: false)
    seen = nil
    in_loop do
      victim = Fiber.schedule do
        db.transaction { db.get(Sequel.lit("pg_sleep(600)")) }
      rescue Failure, NB::ClientGone => e
        seen = e
      end
      busy = "select count(*) from pg_stat_activity where query like '%pg_sleep(600)%' " \
             "and state = 'active' and pid <> pg_backend_pid()"
      sleep(0.001) until @db[busy].get == 1
      held = relay.hold(from: :client)
      victim.raise(Failure)
      held.pop
      victim.raise(NB::ClientGone)
      sleep(0.001) while victim.alive?
    end
    assert_kind_of NB::ClientGone, seen
  ensure
    relay&.close
    db&.disconnect
  end

  def test_a_timeout_does_as_a_deadline_does
    in_loop do
      assert_raises(Timeout::Error) { Timeout.timeout(0.01) { wait_in_database(1) } }
      NB.offload { await("it waits no more") { waiting.zero? } }
      assert_equal 2, @db["select 2"].get
    end
  end

  def test_a_loop_over_rows_that_is_left_early_costs_no_connection
    in_loop do
      backend = @db["select pg_backend_pid()"].get
      @db["select generate_series(1, 5000) n"].paged_each(rows_per_fetch: 100) do |row|
        break if row[:n] == 250
      end
      @db.transaction { throw_out }
      assert_equal backend, @db["select pg_backend_pid()"].get
    end
  end

  def throw_out
    catch(:halt) { @db.transaction(savepoint: true) { throw :halt } }
  end

  def test_a_lost_connection_is_an_error_for_its_holder_and_nothing_for_the_next
    in_loop do
      victim = fiber { assert_raises(Sequel::DatabaseDisconnectError) { wait_in_database(1) } }
      NB.offload do
        await("it waits") { waiting == 1 }
        keeper.run("select pg_terminate_backend(pid) from pg_stat_activity " \
                   "where wait_event = 'advisory'")
      end
      join(victim)
      assert_equal 3, @db["select 3"].get
      assert_equal 1, @db.pool.size
    end
  end

  def test_listen_parks_until_somebody_notifies
    heard = nil
    in_loop do
      notify = ->(_) { fiber { @db.notify(:news, payload: "told") } }
      listener = fiber do
        heard = @db.listen(:news, after_listen: notify) { |_, _, payload| payload }
      end
      join(listener)
    end
    assert_equal "news", heard
  end

  def test_models_hooks_and_migrations_work_as_ever
    in_loop do
      @db.extension :connection_validator
      @db.drop_table?(:parts)
      migration = Sequel.migration do
        change { create_table(:parts) { [primary_key(:id), column(:name, String)] } }
      end
      migration.apply(@db, :up)
      part = Class.new(Sequel::Model(@db[:parts])) { plugin :timestamps }
      committed = []
      fibers = Array.new(30) do |number|
        fiber do
          part.db.transaction do
            made = part.create(name: number.to_s)
            @db.after_commit { committed << made.name }
          end
        end
      end
      join(fibers)
      assert_equal part.select_order_map(:name), committed.sort
      assert_equal 30, committed.size
      migration.apply(@db, :down)
    end
  end
end

module SequelMariadbTests
  LOCK = "sequel_test"

  def setup
    super
    # The server may not have seen yet that the test before has gone.
    assert_equal 1, keeper.get(Sequel.function(:get_lock, LOCK, Patience::SECONDS))
  end

  def wait_in_database(number)
    sql = "select is_used_lock('#{LOCK}'), get_lock('#{LOCK}', 1e6), release_lock('#{LOCK}'), " \
          "? as number"
    @db[sql, number].first[:number]
  end

  def let_go
    keeper.get(Sequel.function(:release_lock, LOCK))
  end

  def waiting
    keeper["select count(*) n from information_schema.processlist where state = 'User lock'"].get
  end

  def test_as_many_queries_as_connections_are_inside_at_once
    assert_all_inside_at_once(->(count) { await("#{count} waiting") { waiting == count } })
  end

  def test_answers_never_cross
    assert_answers_never_cross("select ?")
  end

  def test_a_query_that_is_left_in_the_middle_costs_its_connection_and_nobody_elses
    in_loop do
      before = @db["select connection_id()"].get
      victim = fiber do
        assert_raises(SequelDriversCase::Failure) { @db.transaction { wait_in_database(1) } }
      end
      NB.offload { await("it waits") { waiting == 1 } }
      victim.raise(SequelDriversCase::Failure)
      join(victim)
      refute_equal before, @db["select connection_id()"].get
      assert_equal 1, @db.pool.size
    end
  end

  def test_rows_that_are_streamed_and_left_early_leave_a_whole_connection
    in_loop do
      rows = @db["select seq from seq_1_to_5000"]
      rows = rows.stream if rows.respond_to?(:stream)
      rows.each { |row| break if row[:seq] == 100 }
      assert_equal 1, @db["select 1"].get
    end
  end
end

class SequelMysql2Test < SequelDriversCase
  include SequelMariadbTests

  def self.url
    "mysql2://root@127.0.0.1:#{Services.mariadb.port}/test"
  end
end

class SequelTrilogyTest < SequelDriversCase
  include SequelMariadbTests

  def self.url
    "trilogy://root@127.0.0.1:#{Services.mariadb.port}/test"
  end
end

class SequelSqliteTest < VerbsCase
  def test_a_database_in_memory_keeps_its_one_connection_whatever_ends_a_fiber
    db = Sequel.connect("sqlite:/", keep_reference: false)
    run_loop do
      db.create_table(:numbers) { Integer :number }
      fibers = Array.new(20) do |number|
        Fiber.schedule do
          db.transaction { sleep(0) && db[:numbers].insert(number: number) }
        end
      end
      sleep(0) while fibers.any?(&:alive?)
      assert_raises(Failure) { db[:numbers].each { |row| raise Failure if row } }
      assert_raises(NB::DeadlineExceeded) { NB.deadline(0.001) { db.transaction { sleep } } }
      assert_equal [*0...20], db[:numbers].select_order_map(:number)
    end
  end

  def test_writers_wait_in_turn_for_a_database_in_a_file
    Dir.mktmpdir do |folder|
      db = Sequel.connect("sqlite://#{folder}/numbers.db",
                          max_connections: 4, keep_reference: false)
      run_loop do
        db.create_table(:numbers) { Integer :number }
        fibers = Array.new(20) { |number| Fiber.schedule { db[:numbers].insert(number: number) } }
        sleep(0.001) while fibers.any?(&:alive?)
        assert_equal [*0...20], db[:numbers].select_order_map(:number)
      end
      db.disconnect
    end
  end
end

# In a process and a bundle of its own: sequel_pg changes Sequel for good.
class SequelPgTest < SequelDriversCase
  BUNDLE = GemBundle.new(
    File.expand_path("../../gemfiles/hanami.gemfile", __dir__), "bundle-hanami"
  )
  SCRIPT = <<~'RUBY'
    require "neverblock"
    require "sequel"
    DB = Sequel.connect(ARGV.fetch(0), max_connections: 2)
    DB.extension :pg_streaming
    DB.stream_all_queries = true
    unless Sequel::Postgres.respond_to?(:supports_streaming?) &&
           Sequel::Postgres.supports_streaming?
      abort "sequel_pg is not there"
    end

    NB.run do
      sql = "select ?::int + n as n from generate_series(1, 2000) n"
      rows = ->(from) { DB[sql, from].map(:n) }
      found = Array.new(6) do |number|
        Fiber.schedule do
          print rows.call(number) == [*(number + 1)..(number + 2000)] ? "." : "wrong"
        end
      end
      sleep(0.001) while found.any?(&:alive?)

      DB["select n from generate_series(1, 5000) n"].each { |row| break if row[:n] == 10 }
      begin
        slow = "select n, pg_sleep(case when n > 5 then 60 else 0 end) from generate_series(1, 10) n"
        NB.deadline(0.05) { DB[slow].each { |row| row } }
      rescue NB::DeadlineExceeded
        print "ended"
      end
      print rows.call(7).size, DB.pool.size
    end
  RUBY

  def self.url
    Services.postgresql.url
  end

  def test_rows_that_sequel_pg_streams_are_whole_and_a_stream_that_is_cut_costs_its_connection
    lib = File.expand_path("../../lib", __dir__)
    command = [BUNDLE.env, RbConfig.ruby, "-W0", "-rbundler/setup", "-I", lib, "-e", SCRIPT, url]
    out, status = Timeout.timeout(SECONDS) { Open3.capture2e(*command) }
    assert status.success?, out
    assert_match(/\A\.{6}ended2000[12]\z/, out)
  end
end
