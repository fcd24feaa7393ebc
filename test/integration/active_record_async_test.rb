# frozen_string_literal: true

# ActiveRecord's asynchronous queries under the server: they run in fibers beside their requests,
# as many at once as the application says, and leave nothing, however a request ends. What they
# answer is in test/support/records/async_contract.rb.

require_relative "../support/http_client"
require_relative "../support/records_case"

class ActiveRecordAsyncCase < RecordsCase
  # Of connections, and of asynchronous queries at once.
  POOL = 12
  EACH = 3

  def self.server_options
    {
      options: ["-C", configuration, *ADMIN,
                *ServerProcess.one_process("a test of one process's pools")],
      env: { "NB_TEST_RECORDS" => JSON.generate(pools("neverblock_", pool: POOL)),
             "NB_TEST_ASYNC" => POOL.to_s }
    }
  end

  def self.configuration
    @configuration ||=
      File.join(Dir.mktmpdir("neverblock-records"), "neverblock.rb").tap do |file|
        File.write(file, settings)
      end
  end

  private

  def left(name)
    parsed(ask(path(name, "left_by_async")))
  end

  def assert_nothing_left(name)
    await("nothing is left on #{name}") do
      stat(name).values_at("busy", "waiting", "dead").sum.zero? &&
        left(name).values_at("running", "waiting").sum.zero?
    end
  end

  # Each connection answers what it is asked.
  def assert_usable(name)
    answers = ask_at_once(POOL * 2, name, "query") { |number| { sql: "SELECT '#{number}'" } }

    assert_equal (0...(POOL * 2)).map(&:to_s), answers.map(&:value), name
  end
end

class ActiveRecordAsyncTest < ActiveRecordAsyncCase
  MANY = 500

  # A client that leaves ends its request.
  def self.settings
    <<~RUBY
      cancel_on_disconnect true
      route "/lane/*", lane: :thread
    RUBY
  end

  def test_the_queries_of_several_requests_run_at_once_and_take_no_thread
    each_database do |name, locks|
      tasks = left(name)["tasks"]
      answers = nil
      locks.closed do
        answers = ask_at_once(POOL / EACH, name, "async") { |number| { sql: locks.sql(number) } }
        await("all queries run on #{name}") { locks.waiting == POOL }

        assert_equal POOL, left(name)["running"], name
        assert_equal "200", ask("/").status.to_s, "others are answered meanwhile"
      end

      assert_equal((0...(POOL / EACH)).map { |number| [number.to_s] * EACH },
                   answers.map { |thread| thread.value.map(&:to_s) })
      assert_nothing_left(name)
      assert_equal tasks, left(name)["tasks"], "queries that threads ran"
    end
  end

  def test_they_are_shown_as_fibers_of_their_request_that_wait_for_the_database
    each_database do |name, locks|
      answer = nil
      locks.closed do
        answer = ask_at_once(1, name, "async") { { sql: locks.sql("shown") } }.first
        await("they run on #{name}") { locks.waiting == EACH }
        helpers = fibers.select { |fiber| fiber["fiber"] == "helper" }

        assert_equal [["/#{name}/async", "database"]] * EACH,
                     helpers.map { |fiber| [fiber["path"], fiber["waits_for"]["kind"]] }
      end
      answer.join
    end
  end

  # The others have the pool's connections.
  def test_more_than_may_run_at_once_are_all_answered
    each_database do |name, locks|
      answers = nil
      locks.closed do
        answers = ask_at_once(POOL * 2, name, "async") { |number| { sql: locks.sql(number) } }
        await("as many as may run, run on #{name}") do
          locks.waiting == POOL && left(name)["running"] == POOL
        end
      end

      assert_equal((0...(POOL * 2)).map { |number| [number.to_s] * EACH },
                   answers.map { |thread| thread.value.map(&:to_s) })
      assert_nothing_left(name)
    end
  end

  def test_queries_whose_request_is_over_are_ended_and_leave_nothing
    each_database do |name, locks|
      { "unread" => "unread", "read_late" => "NeverBlock::DeadlineExceeded" }.each do |route, word|
        locks.closed do
          answer = parsed(ask(path(name, route, sql: locks.sql("nobody"))))

          assert_equal [word] * EACH, answer, name
          assert_nothing_left(name)
          await("the database has ended them") { locks.waiting.zero? }
        end
      end
      assert_usable(name)
    end
  end

  def test_queries_whose_client_has_left_are_ended_and_leave_nothing
    each_database do |name, locks|
      locks.closed do
        clients = Array.new(POOL / EACH) do
          client = Wire::Client.new(server.url)
          client.tap { client.write(request(path(name, "async", sql: locks.sql("left")))) }
        end
        await("their queries run on #{name}") { locks.waiting == POOL }
        clients.each(&:close)

        assert_nothing_left(name)
      end
      assert_usable(name)
    end
  end

  def test_many_requests_leave_no_connection_and_no_fiber
    each_database do |name, _locks|
      sqls = ["SELECT 'a'", "SELECT nowhere", "SELECT 'b'"]
      routes = %w[async unread read_late]
      ask_all(name, routes, sqls, 20)
      assert_nothing_left(name)
      fibers = left(name)["fibers"]
      ask_all(name, routes, sqls, MANY)

      assert_nothing_left(name)
      await("no fiber is left on #{name}") { left(name)["fibers"] <= fibers }
    end
  end

  # It has no loop: there a thread of Rails' runs the query.
  def test_a_lane_has_threads
    each_database do |name, _locks|
      tasks = left(name)["tasks"]

      assert_equal %w[lane lane lane], parsed(ask(path("lane/#{name}", "async",
                                                       sql: "SELECT 'lane'")))
      assert_equal tasks + EACH, left(name)["tasks"]
    end
  end

  private

  def fibers
    JSON.parse(HTTPClient.get(URI("#{server.admin_url}/fibers.json"))).fetch("fibers")
  end

  def ask_all(name, routes, sqls, count)
    Wire::Client.open(server.url) do |client|
      count.times do |number|
        client.get(path(name, routes[number % routes.size], sql: sqls[number / 3 % sqls.size]))
        client.response
      end
    end
  end
end

# The server's own limit ends requests while their queries run in fibers.
class ActiveRecordAsyncTimeoutTest < ActiveRecordAsyncCase
  # The others are answered within it.
  def self.settings
    "timeouts { request 5 }\n"
  end

  def test_their_queries_are_ended_and_later_answers_are_the_right_ones
    each_database do |name, locks|
      locks.closed do
        late = Array.new(POOL / EACH) do |number|
          Thread.new { ask(path(name, "async", sql: locks.sql("late #{number}"))).status.to_i }
        end
        await("their queries run on #{name}") { locks.waiting == POOL }

        assert_equal [503], late.map(&:value).uniq, name
        assert_nothing_left(name)
        await("the database has ended them") { locks.waiting.zero? }
        assert_usable(name)
      end
      answers = ask_at_once(POOL, name, "async") { |number| { sql: "SELECT '#{number}'" } }

      assert_equal (0...POOL).map { |number| [number.to_s] * EACH }, answers.map(&:value), name
      assert_nothing_left(name)
    end
  end
end
