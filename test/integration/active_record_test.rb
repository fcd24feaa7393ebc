# frozen_string_literal: true

# ActiveRecord under the server: the adapters by their names alone, the pool's wait queue,
# connections that come back, and queries that are cut.

require_relative "../support/records_case"

# With the word in database.yml, and a pool of 12.
class ActiveRecordTest < RecordsCase
  POOL = 12

  def self.server_options
    {
      options: ["-C", configuration, *ServerProcess.one_process("a test of one process's pools")],
      env: { "NB_TEST_RECORDS" => JSON.generate(pools("neverblock_", pool: POOL)) }
    }
  end

  # A client that leaves ends its request.
  def self.configuration
    @configuration ||=
      File.join(Dir.mktmpdir("neverblock-records"), "neverblock.rb").tap do |file|
        File.write(file, <<~RUBY)
          cancel_on_disconnect true
          route "/lane/*", lane: :thread
        RUBY
      end
  end

  def test_the_word_alone_makes_it_ours_and_fibers_the_owners_of_connections
    { "pg" => "PostgreSQL", "mysql2" => "Mysql2", "trilogy" => "Trilogy" }.each do |name, adapter|
      found = parsed(ask(path(name, "what")))

      assert_equal "ActiveRecord::ConnectionAdapters::Neverblock#{adapter}Adapter", found["class"]
      assert_equal "fiber", found["isolation"]
    end
  end

  def test_as_many_queries_run_at_once_as_the_pool_has_connections_and_the_others_follow
    each_database do |name, locks|
      answers = nil
      locks.closed do
        answers = ask_at_once(POOL * 2, name, "query") { |number| { sql: locks.sql(number) } }
        await("#{POOL} queries run on #{name}") do
          in_pool(name) == { "busy" => POOL, "waiting" => POOL } && locks.waiting >= POOL
        end
        answers.each { |thread| assert_predicate thread, :alive? }

        assert_equal "200", ask("/").status.to_s, "others are answered meanwhile"
      end

      assert_equal (0...(POOL * 2)).map(&:to_s), answers.map(&:value), name
      assert_equal({ "busy" => 0, "waiting" => 0 }, in_pool(name))
    end
  end

  def test_a_request_that_waits_for_something_else_holds_no_connection
    each_database do |name, _locks|
      Gate.open do |gate|
        asked = ask_at_once(POOL + 1, name, "elsewhere") do |number|
          { sql: "SELECT '#{number}'", gate: gate.port }
        end
        inside = asked.map { gate.arrival }

        assert_equal 0, stat(name)["busy"], name
        inside.each(&:close)
        assert_equal (0..POOL).map { |number| [number.to_s] * 2 }, asked.map(&:value)
      end
    end
  end

  def test_what_a_request_has_leased_is_given_back_at_its_end
    each_database do |name, _locks|
      (POOL * 2).times do |number|
        assert_equal number.to_s, parsed(ask(path(name, "leased", sql: "SELECT '#{number}'")))
      end

      assert_equal 0, stat(name)["busy"], name
    end
  end

  def test_what_an_enumerator_that_is_left_has_leased_is_given_back_at_the_requests_end
    each_database do |name, _locks|
      [name, "lane/#{name}"].each do |place|
        (POOL * 2).times do |number|
          assert_equal number.to_s, parsed(ask(path(place, "left", sql: "SELECT '#{number}'")))
        end

        assert_equal 0, stat(name)["busy"], place
      end
    end
  end

  def test_an_enumerator_in_a_transaction_has_its_connection
    each_database do |name, locks|
      locks.execute("DROP TABLE IF EXISTS enumerated")
      locks.execute("CREATE TABLE enumerated (word varchar(10))" \
                    "#{" ENGINE=InnoDB" unless name == "pg"}")

      [[name, "seen"], ["lane/#{name}", "seen"], [name, "seen_in_thread"]].each do |place, route|
        target = path(place, route, write: "INSERT INTO enumerated VALUES ('mine')",
                                    sql: "SELECT count(*) FROM enumerated")

        assert_equal 1, parsed(ask(target)), "#{place}/#{route}"
      end
    end
  end

  def test_a_query_whose_client_has_left_leaves_nothing_to_the_next_user_of_its_connection
    each_database do |name, locks|
      locks.closed do
        leave(POOL, name, "query", locks) { { sql: locks.sql("left") } }
        answers = ask_at_once(POOL * 4, name, "query") { |number| { sql: "SELECT '#{number}'" } }

        assert_equal (0...(POOL * 4)).map(&:to_s), answers.map(&:value), name
      end
      assert_equal({ "busy" => 0, "waiting" => 0 }, in_pool(name))
      assert_operator stat(name)["connections"], :<=, POOL
    end
  end

  # ActiveRecord makes StatementInvalid of it for MySQL.
  def test_what_ends_a_query_is_what_its_request_sees
    each_database do |name, locks|
      raised = name == "pg" ? "RecordsApp::Over" : "ActiveRecord::StatementInvalid"
      locks.closed do
        assert_equal [raised] * 2, parsed(ask(path(name, "over", sql: locks.sql("late")))), name
      end
      assert_equal({ "busy" => 0, "waiting" => 0 }, in_pool(name))
    end
  end

  # MySQL's drivers close a connection that is left, as on threads.
  def test_a_transaction_goes_on_after_a_timeout_on_postgresql
    locks = Locks.new("pg")
    locks.execute("DROP TABLE IF EXISTS went_on")
    locks.execute("CREATE TABLE went_on (word varchar(10))")
    target = path("pg", "goes_on", slow: "SELECT pg_sleep(0.3)",
                                   write: "INSERT INTO went_on VALUES ('both')",
                                   sql: "SELECT count(*) FROM went_on")

    assert_equal [["Timeout::Error", "RecordsApp::Over"], 2], parsed(ask(target))
    assert_equal "2", locks.value("SELECT count(*) FROM went_on").to_s
  ensure
    locks&.close
  end

  def test_a_connection_that_was_given_back_in_the_middle_of_an_answer_is_closed_and_its_query_ended
    locks = Locks.new("pg")
    locks.closed do
      assert_equal "Timeout::Error", parsed(ask(path("pg", "left_running", sql: locks.sql("old"))))
      await("the query is ended") { locks.waiting.zero? }
      answers = ask_at_once(POOL * 2, "pg", "query") { |number| { sql: "SELECT '#{number}'" } }

      assert_equal (0...(POOL * 2)).map(&:to_s), answers.map(&:value)
    end
  ensure
    locks&.close
  end

  def test_a_transaction_whose_client_has_left_is_rolled_back
    each_database do |name, locks|
      locks.execute("DROP TABLE IF EXISTS written")
      locks.execute("CREATE TABLE written (word varchar(10))" \
                    "#{" ENGINE=InnoDB" unless name == "pg"}")
      locks.closed do
        leave(POOL, name, "transaction", locks) do
          { write: "INSERT INTO written VALUES ('left')", sql: locks.sql("left") }
        end
      end
      stays = { write: "INSERT INTO written VALUES ('stayed')", sql: "SELECT 1" }
      parsed(ask(path(name, "transaction", **stays)))

      await("what was written is rolled back on #{name}") do
        locks.value("SELECT count(*) FROM written").to_i == 1
      end
      assert_equal "stayed", locks.value("SELECT word FROM written")
    end
  end

  if Fiber.method_defined?(:kill)
    def test_a_transaction_whose_fiber_is_killed_is_rolled_back
      each_database do |name, locks|
        locks.execute("DROP TABLE IF EXISTS killed")
        locks.execute("CREATE TABLE killed (n int)#{" ENGINE=InnoDB" unless name == "pg"}")
        write = "INSERT INTO killed VALUES (1)"
        assert_equal "alive", parsed(ask(path(name, "killed", write: write)))
        locks.closed do
          assert_equal "alive", parsed(ask(path(name, "killed", write: write, sql: locks.sql(1))))
        end
        assert_equal 0, locks.value("SELECT count(*) FROM killed").to_i, name
      end
    end
  end

  def test_who_leaves_the_line_leaves_it_whole
    each_database do |name, locks|
      answers = nil
      locks.closed do
        answers = ask_at_once(POOL, name, "query") { |number| { sql: locks.sql(number) } }
        await("the pool of #{name} is in use") do
          stat(name)["busy"] == POOL && locks.waiting >= POOL
        end
        gone = Array.new(POOL) { connect_and_write(path(name, "query", sql: "SELECT 'gone'")) }
        await("they wait") { stat(name)["waiting"] == POOL }
        answers += ask_at_once(1, name, "query") { { sql: "SELECT 'last'" } }
        await("so does another") { stat(name)["waiting"] == POOL + 1 }
        gone.each(&:close)
        await("they have left") do
          flunk "the other has its answer: #{answers.last.value}" unless answers.last.alive?
          stat(name)["waiting"] == 1
        end
      end

      assert_equal [*(0...POOL).map(&:to_s), "last"], answers.map(&:value)
    end
  end

  private

  def in_pool(name)
    stat(name).slice("busy", "waiting")
  end

  def connect_and_write(target)
    Wire::Client.new(server.url).tap { |client| client.write(request(target)) }
  end

  # So many requests whose queries wait at the gate, and then their clients go.
  def leave(count, name, route, locks)
    clients = Array.new(count) { connect_and_write(path(name, route, **yield)) }
    await("#{count} queries wait on #{name}") do
      stat(name)["busy"] == count && locks.waiting >= count
    end
    clients.each(&:close)
    await("the requests have ended on #{name}") { stat(name)["busy"].zero? }
  end
end

# ActiveRecord's own adapters, and a database.yml nobody has changed.
class ActiveRecordUntouchedTest < RecordsCase
  AT_ONCE = 200

  def self.server_options
    {
      options: [*ADMIN, *ServerProcess.one_process("a test of one process's pools")],
      env: { "NB_TEST_RECORDS" => JSON.generate(pools("")) }
    }
  end

  def test_two_hundred_slow_queries_at_once_are_all_answered
    each_database do |name, locks|
      answers = nil
      locks.closed do
        answers = ask_at_once(AT_ONCE, name, "query") { |number| { sql: locks.sql(number) } }
        size = await("the pool of #{name} has its size") do
          size, waiting = stat(name).values_at("size", "waiting")
          size if size + waiting + requests["queued"] == AT_ONCE
        end

        assert_operator size, :>, 5
        await("as many run") { locks.waiting >= size }
      end

      assert_equal (0...AT_ONCE).map(&:to_s), answers.map(&:value), name
    end
    assert_match(/ActiveRecord \(primary\): up to \d+ connections.*as the database takes \d+/,
                 server.stderr)
  end

  def test_they_are_the_applications_and_fibers_own_their_connections
    found = parsed(ask(path("pg", "what")))

    assert_equal %w[ActiveRecord::ConnectionAdapters::PostgreSQLAdapter fiber],
                 found.values_at("class", "isolation")
  end
end

# Workers whose mold has asked the databases while it loaded the application.
class ActiveRecordWorkersTest < RecordsCase
  AT_ONCE = 30 # one worker may get them all

  def self.server_options
    { options: ["-w", "2"], env: { "NB_TEST_RECORDS" => JSON.generate(pools("neverblock_")) } }
  end

  def test_each_worker_has_connections_of_its_own_and_a_share_of_what_the_databases_take
    each_database do |name, locks|
      answers = nil
      locks.closed do
        answers = ask_at_once(AT_ONCE, name, "query") { |number| { sql: locks.sql(number) } }
        await("they run on #{name}") { locks.waiting >= AT_ONCE }
      end

      assert_equal (0...AT_ONCE).map(&:to_s), answers.map(&:value), name
    end
    server.await_stderr(/up to \d+ connections in each of 2 workers/)
  end
end
