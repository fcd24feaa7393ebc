# frozen_string_literal: true

# Scenarios of contract.rb about asynchronous queries: load_async, async_count and the others. Each
# runs in a session of ActiveRecord's, as a request of Rails does.

class RecordsContract
  # The state of a request.
  class Current < ActiveSupport::CurrentAttributes
    attribute :user
  end

  # Its pool is that of a scenario.
  class Apart < ActiveRecord::Base
    self.table_name = "items"
  end

  # A comment in the queries that wait for a row's lock.
  BARRIER = "barrier"

  def on_any_load_async
    in_session do
      items = seeded("later")
      relation = items.load_async
      [relation.scheduled?, relation.map(&:count), relation.loaded?, relation.scheduled?,
       Item.async_count.value]
    end
  end

  def on_any_async_values
    in_session do
      items = seeded("a", "b", "c")
      [
        items.async_count, items.async_sum(:count), items.async_average(:count),
        items.async_minimum(:name), items.async_maximum(:count),
        items.order(:name).async_pluck(:name, :count), items.order(:name).async_pick(:name),
        items.order(:name).async_ids.then(&:size), Item.async_count_by_sql("SELECT 3"),
        Item.async_find_by_sql("SELECT name FROM items ORDER BY name").then { |all|
          all.map(&:name)
        },
        items.group(:name).async_count, Item.none.async_count, Item.none.async_pluck(:name)
      ].map { |promise| [promise.class.name, promise.value, promise.pending?, promise.inspect] }
    end
  end

  def on_any_async_promises_are_chained
    in_session do
      first = seeded("x").async_pick(:name)
      second = first.then(&:upcase)
      third = second.then { |name| name * 2 }
      [third.value, second.value, first.value, [first, second, third].map(&:pending?)]
    end
  end

  def on_any_async_relations
    in_session do
      items = seeded("a", "b")
      reset = items.load_async.tap(&:reset)
      twice = items.load_async.load_async
      [reset.scheduled?, reset.map(&:name).sort, twice.load.size, items.load_async.empty?,
       items.load_async.to_a.size, items.load_async.order(name: :desc).first.name]
    end
  end

  # They are raised where the result is read, each time.
  def on_any_async_errors
    in_session do
      wrong = Item.where("nowhere = 1")
      promise = wrong.async_count
      relation = wrong.load_async
      large = Item.where(count: 2**80).load_async
      [outcome { promise.value }, outcome { promise.value }, outcome { promise.then(&:to_s).value },
       outcome { relation.to_a }, outcome { large.to_a.size },
       outcome { Item.async_pick(:id).then { raise "mine" }.value }]
    end
  end

  def on_any_async_in_a_transaction
    in_session do
      items = seeded("inside")
      Item.transaction do
        relation = items.load_async
        [relation.scheduled?, relation.loaded?, relation.map(&:name),
         outcome { items.async_count.value }]
      end
    end
  end

  def on_any_async_without_an_executor
    executor, ActiveRecord.async_query_executor = ActiveRecord.async_query_executor, nil
    in_session do
      items = seeded("now")
      relation = items.load_async
      promise = items.async_count
      [relation.scheduled?, relation.loaded?, promise.class.name, promise.value]
    end
  ensure
    ActiveRecord.async_query_executor = executor
  end

  def on_any_async_without_a_session
    items = seeded("alone")
    [outcome { items.load_async.map(&:name) }, outcome { items.async_count.value }]
  end

  def on_any_async_after_the_session
    items = seeded("too late")
    promise, done, relation = in_session do
      [items.async_count, done(items.async_count), items.load_async]
    end
    [promise, done].map { |one| [outcome { one.value }, one.pending?, one.inspect] } +
      [outcome { relation.to_a }]
  end

  def on_any_async_events
    in_session do
      promises = [seeded("seen").async_count, Item.where("nowhere = 1").async_count,
                  Item.async_pluck(:name)]
      promises.each { |promise| done(promise) }
      Current.user = "reader"
      events { promises.map { |promise| outcome { promise.value } } }
    end
  ensure
    Current.reset
  end

  # Whoever reads a query that has not begun runs it.
  def on_any_async_events_of_what_has_not_begun
    at_a_barrier do |behind, let_go|
      promises = Array.new(4) { behind.async_pluck(:name) }
      read = nil
      found = events { read = Item.async_count.value }
      let_go.call
      [found, read, promises.map(&:value)]
    end
  end

  def on_any_async_query_cache
    in_session do
      items = seeded("cached")
      Base.cache do
        items.to_a
        hit = counting { items.load_async.to_a }
        missed = counting { 2.times { done(items.async_count).value } }
        [hit, missed]
      end
    end
  end

  def on_any_async_queries_run_at_once
    at_a_barrier do |behind, let_go|
      relations = Array.new(3) { behind.spawn.load_async }
      await { waiting == 3 }
      let_go.call
      [relations.map(&:scheduled?), relations.map { |found| found.map(&:name) }]
    end
  end

  def on_any_async_bound
    with_executor(:multi_thread_pool, max_threads: 2, pool: 6) do |model|
      at_a_barrier(model) do |behind, let_go|
        promises = Array.new(5) { behind.async_pluck(:name) }
        await { waiting == 2 }
        at_once = [Array.new(20) { waiting }.max, model.connection_pool.stat[:busy]]
        let_go.call
        [at_once, promises.map(&:value)]
      end
    end
  end

  # One runs, four wait in the queue, and the sixth is run by who asks.
  def on_any_async_queue_is_full
    with_executor(:multi_thread_pool, max_threads: 1, pool: 6) do |model|
      at_a_barrier(model, opens_at: 2) do |behind, _let_go|
        promises = Array.new(6) { behind.async_pluck(:name) }
        [promises.last.pending?, promises.map(&:value)]
      end
    end
  end

  def on_any_async_pool_of_one
    with_executor(:multi_thread_pool, max_threads: 4, pool: 1) do |model|
      seeded("alone")
      free = Array.new(3) { model.async_count }.map(&:value)
      held = model.connection_pool.with_connection do
        Array.new(3) { model.where(name: "alone").load_async }.map(&:size)
      end
      leasing = model.respond_to?(:lease_connection) ? :lease_connection : :connection
      model.public_send(leasing)
      leased = Array.new(3) { model.async_pick(:name) }.map(&:value)
      model.connection_pool.release_connection
      [free, held, leased]
    end
  end

  # Of the request's state, the query sees what it sees in a thread.
  def on_any_async_state
    seen = []
    looks = Module.new do
      define_singleton_method(:call) do |sql, _connection|
        seen << Current.user if sql.include?("COUNT")
        sql
      end
    end
    in_session do
      Current.user = "reader"
      ActiveRecord.query_transformers << looks
      promise = done(Item.async_count)
      Current.user = "changed"
      [promise.value, Current.user, seen]
    end
  ensure
    ActiveRecord.query_transformers.delete(looks)
    Current.reset
  end

  def on_any_async_roles
    replica = @configuration.merge(replica: true)
    Base.connects_to(database: { writing: @configuration, reading: replica })
    in_session do
      seeded("there")
      Base.connected_to(role: :reading) { [Item.async_count, Item.all.load_async] }
          .then { |count, all| [count.value, all.map(&:name)] }
    end
  ensure
    %i[writing reading].each do |role|
      Base.connection_handler.remove_connection_pool(Base.name, role: role)
    end
    Base.connection_specification_name = nil if Base.respond_to?(:connection_specification_name=)
  end

  def on_any_async_of_several_at_once
    seeded("all")
    @crowd.together(*Array.new(4) do |number|
      lambda do
        in_session do
          Array.new(3) { |other| Item.async_count.then { |found| [number, other, found] } }
               .map(&:value)
        end
      ensure
        ActiveRecord::Base.connection_handler.clear_active_connections!(:all)
      end
    end)
  end

  private

  def in_session
    ActiveRecord::Base.asynchronous_queries_tracker.start_session
    yield
  ensure
    ActiveRecord::Base.asynchronous_queries_tracker.finalize_session
  end

  # @return [ActiveRecord::Relation] rows with these names
  def seeded(*names)
    Item.insert_all(names.each_with_index.map { |name, number| { name: name, count: number } })
    Item.where(name: names)
  end

  # @return the promise, whose query has ended
  def done(promise)
    await { !promise.pending? }
    promise
  end

  def await
    sleep(0.001) until yield
  end

  # @return [Array] what subscribers were told in the block, and of whose state
  def events(&)
    found = []
    subscriber = lambda do |_name, _from, _to, _id, payload|
      next if payload[:name] == "SCHEMA"

      found << [payload[:name], payload[:async], payload[:exception]&.first,
                payload.key?(:lock_wait), Current.user]
    end
    ActiveSupport::Notifications.subscribed(subscriber, "sql.active_record", &)
    found
  end

  # Another one holds a row in the block, which runs in a session.
  # @param opens_at [Integer, nil] how many queries wait when the row is let go by itself
  # @yieldparam behind [ActiveRecord::Relation] whose query waits for the row
  # @yieldparam let_go [#call]
  def at_a_barrier(model = Item, opens_at: nil)
    item = seeded("held").first
    behind = model.where(id: item.id).lock(@pg ? "FOR SHARE" : "LOCK IN SHARE MODE")
                  .annotate(BARRIER)
    held, over = Array.new(2) { Thread::Queue.new }
    mine = lambda do
      held.pop
      outcome { in_session { yield behind, -> { over << true } } }
    ensure
      over << true
    end
    watcher = lambda do
      await { waiting == opens_at }
      over << true
    end
    @crowd.together(-> { hold(item, held, over) }, mine, *(watcher if opens_at))[1]
  end

  # @return [Integer] how many queries wait for the row
  def waiting
    text = if @pg
             "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' " \
               "AND datname = current_database() AND query LIKE '%/* #{BARRIER} */%'"
           else
             "SELECT count(*) FROM information_schema.processlist WHERE db = database() " \
               "AND info LIKE '%/* #{BARRIER} */%' AND info NOT LIKE '%processlist%'"
           end
    connection { |found| found.select_value(text).to_i }
  end

  # A model with a pool of its own, whose queries have that executor.
  def with_executor(executor, **configuration)
    before, ActiveRecord.async_query_executor = ActiveRecord.async_query_executor, executor
    Apart.establish_connection(@configuration.merge(checkout_timeout: 1, **configuration))
    in_session { yield Apart }
  ensure
    Apart.connection_pool.release_connection
    await { Apart.connection_pool.stat.values_at(:waiting, :busy).sum.zero? }
    Apart.remove_connection
    ActiveRecord.async_query_executor = before
  end
end
