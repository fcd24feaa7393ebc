# frozen_string_literal: true

# The application of the ActiveRecord tests: the same routes on three databases, /pg, /mysql2,
# /trilogy, each with pools as NB_TEST_RECORDS says (JSON: class to configuration). It requires
# nothing of ours, as an application that has only the word in its database.yml. A path may begin
# with /lane: the same route, for tests that have it run on a thread.

require "active_record"
require "json"
require "timeout"

# As Rails' initializers do.
if ENV["NB_TEST_ASYNC"]
  ActiveRecord.async_query_executor = :global_thread_pool
  ActiveRecord.global_executor_concurrency = Integer(ENV["NB_TEST_ASYNC"], 10)
  ActiveRecord::AsynchronousQueriesTracker.install_executor_hooks
end

class RecordsApp
  # What a limit of the application's own raises.
  class Over < StandardError; end

  POOLS = JSON.parse(ENV.fetch("NB_TEST_RECORDS")).to_h do |name, configuration|
    model = Class.new(ActiveRecord::Base) { self.abstract_class = true }
    Object.const_set("#{name.capitalize}Record", model)
    model.establish_connection(configuration)
    [name, model]
  end
  # Asked before the workers are forked: what a connection of the mold's must not become.
  LOADED = POOLS.values.each do |model|
    model.with_connection { |connection| connection.select_value("select 1") }
  end

  def call(env)
    _, name, route = env["PATH_INFO"].delete_prefix("/lane").split("/", 3)
    model = POOLS[name] or return [200, {}, ["#{Process.pid}"]]
    query = env["QUERY_STRING"].split("&").to_h { |pair| pair.split("=", 2) }
    query.transform_values! { |value| value.tr("+", " ").gsub(/%(\h\h)/) { $1.hex.chr } }
    inside(route, query) { [200, {}, [send(route, model, query).to_json]] }
  end

  private

  # Counted while it is in here, and told in which order they came, where they have a number.
  def inside(route, query)
    came << query["number"] if query["number"]
    here[route] += 1
    peaks[route] = [peaks[route], here[route]].max
    yield
  ensure
    here[route] -= 1
  end

  def here
    @here ||= Hash.new(0)
  end

  def peaks
    @peaks ||= Hash.new(0)
  end

  def came
    @came ||= []
  end

  # One query, on a connection that is given back after it.
  def query(model, query)
    model.with_connection { |connection| connection.select_value(query.fetch("sql")) }
  end

  # A query, or no query.
  def maybe(model, query)
    query["sql"] ? query(model, query) : "none"
  end

  def fails(model, query)
    query(model, query)
    raise "on purpose"
  end

  # A connection of this database, and then one of another.
  def nested(model, query)
    model.with_connection { query(POOLS.fetch(query.fetch("other")), query) }
  end

  # The old way: the connection is the request's until it ends.
  def leased(model, query)
    model.lease_connection.select_value(query.fetch("sql"))
  end

  # Leased by an Enumerator's fiber, which is left in the middle.
  def left(model, query)
    Enumerator.new do |yielder|
      yielder << model.lease_connection.select_value(query.fetch("sql"))
      yielder << :never
    end.next
  end

  # An Enumerator sees what its request has written and not yet committed.
  def seen(model, query)
    found = nil
    model.transaction do
      model.lease_connection.execute(query.fetch("write"))
      found = Enumerator.new do |yielder|
        yielder << model.lease_connection.select_value(query.fetch("sql"))
      end.next
      raise ActiveRecord::Rollback
    end
    found
  end

  def seen_in_thread(model, query) = Thread.new { seen(model, query) }.value

  # A query, then a wait for something else, then another query.
  def elsewhere(model, query)
    before = query(model, query)
    TCPSocket.open("127.0.0.1", query.fetch("gate").to_i, &:read)
    [before, query(model, query)]
  end

  def transaction(model, query)
    model.transaction do
      model.with_connection do |connection|
        connection.execute(query.fetch("write"))
        connection.select_value(query.fetch("sql"))
      end
    end
  end

  # The fiber is killed in a query, or where it waits for something else.
  def killed(model, query)
    waits = Queue.new
    fiber = Fiber.schedule do
      model.transaction do
        model.connection.execute(query.fetch("write"))
        waits << true
        query["sql"] ? model.connection.select_value(query["sql"]) : sleep
      end
    end
    waits.pop
    fiber.kill
    sleep(0.001) while fiber.alive?
    model.connection.select_value("SELECT 'alive'")
  end

  # What is raised where a limit ends a query, in a transaction and without one.
  def over(model, query)
    query = query.fetch("sql")
    [-> { model.transaction { limited(model, query) } }, -> { limited(model, query) }].map do |work|
      work.call
    rescue StandardError => e
      e.class.name
    end
  end

  # What a transaction sees and writes after a limit of the application's own has ended its query.
  def goes_on(model, query)
    model.transaction do
      model.connection.execute(query.fetch("write"))
      ended = [Timeout::Error, Over].map do |error|
        Timeout.timeout(0.01, error) { model.connection.select_value(query.fetch("slow")) }
      rescue Timeout::Error, Over => e
        e.class.name
      end
      model.connection.execute(query.fetch("write"))
      [ended, model.connection.select_value(query.fetch("sql"))]
    end
  end

  # Leaves a connection with the answer to a query under way.
  def left_running(model, query)
    model.with_connection do |connection|
      Timeout.timeout(0.01) { connection.select_value(query.fetch("sql")) }
    rescue Timeout::Error => e
      e.class.name
    end
  end

  def limited(model, sql)
    model.with_connection do |connection|
      Timeout.timeout(0.01, Over) { connection.select_value(sql) }
    end
  end

  # Asynchronous queries, which are read.
  def async(model, query)
    ActiveSupport::Executor.wrap { later(model, query).map(&:value) }
  end

  # Asynchronous queries that nobody reads.
  def unread(model, query)
    ActiveSupport::Executor.wrap { later(model, query).map { "unread" } }
  end

  # Asynchronous queries that are read until a deadline.
  def read_late(model, query)
    ActiveSupport::Executor.wrap do
      later(model, query).map do |promise|
        NB.deadline(0.01) { promise.value }
      rescue NB::DeadlineExceeded => e
        e.class.name
      end
    end
  end

  # What asynchronous queries leave: places in use, tasks that threads were given, and fibers.
  def left_by_async(model, _query)
    executor = model.connection_pool.async_executor
    queries = NeverBlock::DB::ActiveRecord::AsyncQueries.of(executor)
    GC.start # fibers that nobody refers to
    { running: queries.running, waiting: queries.waiting, tasks: executor.scheduled_task_count,
      fibers: ObjectSpace.each_object(Fiber).count(&:alive?) }
  end

  # @return [Array<ActiveRecord::Promise>]
  def later(model, query)
    Array.new(query.fetch("count", 3).to_i) do
      model.with_connection do |connection|
        connection.select_value(query.fetch("sql"), "Later", [], async: true)
      end
    end
  end

  def stat(model, _query)
    model.connection_pool.stat.merge(inside: here, peaks: peaks, came: came)
  end

  def what(model, _query)
    {
      adapter: model.connection_db_config.adapter,
      class: model.with_connection { |connection| connection.class.name },
      isolation: ActiveSupport::IsolatedExecutionState.isolation_level
    }
  end
end
