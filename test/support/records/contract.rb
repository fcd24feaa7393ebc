# frozen_string_literal: true

# What ActiveRecord promises on a database, as scenarios that each end in a value. run_contract.rb
# runs them with an adapter of ActiveRecord's own among threads, and with ours among fibers, and the
# values are compared. A scenario is a method whose name begins with `on_any_`, `on_pg_` or
# `on_mysql_`.

require "active_record"
require "json"

class RecordsContract
  class Base < ActiveRecord::Base
    self.abstract_class = true
  end

  class Thing < Base
    self.table_name = "things"
  end

  class Item < Base
    self.table_name = "items"
  end

  # @param configuration [Hash]
  # @param crowd [#together] runs callables at once (Threads, Fibers)
  def initialize(configuration, crowd)
    @configuration = configuration
    @crowd = crowd
    ActiveRecord::Base.establish_connection(configuration)
    @pg = connection(&:adapter_name) == "PostgreSQL"
  end

  # @return [Hash{String => Object}] what each scenario ended in
  def run(only = nil)
    prepare
    names = methods.grep(/\Aon_(any|#{@pg ? "pg" : "mysql"})_/).sort
    names.grep(Regexp.new(only.to_s)).to_h do |name|
      [name.to_s, timed(name) { outcome { public_send(name) } }]
    end
  end

  # --- What it is ---

  def on_any_names
    connection do |found|
      adapters = ["::PostgreSQLAdapter", "::Mysql2Adapter", "::TrilogyAdapter"]
      theirs = found.class.ancestors.find do |one|
        one.name&.end_with?(*adapters) && !one.name.include?("Neverblock")
      end
      supports = found.methods.grep(/\Asupports_.*\?\z/).sort
      [found.adapter_name, theirs.name, found.visitor.class.name,
       found.native_database_types.keys.sort,
       supports.to_h { |name| [name, found.public_send(name)] }]
    end
  end

  def on_any_tasks
    tasks = ActiveRecord::Tasks::DatabaseTasks.send(:class_for_adapter, @configuration[:adapter])
    [tasks.name, ActiveRecord::Type.adapter_name_from(Base)]
  end

  def on_any_database_is_created_and_dropped
    made = @configuration.merge(database: "#{@configuration[:database]}_made")
    configuration = ActiveRecord::DatabaseConfigurations::HashConfig.new("test", "made", made)
    tasks = ActiveRecord::Tasks::DatabaseTasks
    quietly { tasks.create(configuration) }
    there = databases.include?(configuration.database)
    quietly { tasks.drop(configuration) }
    [there, databases.include?(configuration.database)]
  ensure
    ActiveRecord::Base.establish_connection(@configuration)
  end

  def on_any_schema_dump
    dump = StringIO.new
    base = ActiveRecord::Base
    source = ActiveRecord::VERSION::STRING < "7.2" ? base.connection : base.connection_pool
    ActiveRecord::SchemaDumper.dump(source, dump)
    dump.string
  end

  def on_any_console
    found = nil
    runner = connection(&:class)
    runner.define_singleton_method(:find_cmd_and_exec) { |*words| found = words }
    runner.dbconsole(ActiveRecord::Base.connection_db_config, include_password: false)
    found.flatten.map(&:to_s)
  end

  def on_any_migrations_take_the_advisory_lock
    migration = Class.new(ActiveRecord::Migration[7.1]) do
      def up
        create_table(:made) { |t| t.string :name, index: true }
        change_column_null :made, :name, false
      end

      def down
        drop_table :made
      end
    end
    proxy = ActiveRecord::MigrationProxy.new("Made", 1, __FILE__, "")
    proxy.define_singleton_method(:migration) { @migration ||= migration.new("Made", 1) }
    old = ActiveRecord::VERSION::STRING < "7.2"
    %i[up down].map do |way|
      migrator = old ? old_migrator(way, [proxy]) : new_migrator(way, [proxy])
      quietly { migrator.migrate }
      connection do |found|
        found.table_exists?(:made) &&
          found.columns(:made).map { |column| [column.name, column.null] }
      end
    end
  end

  # --- Rows and types ---

  def on_any_rows
    Item.create!(
      name: "one", weight: 1.5, count: 3, seen_at: Time.utc(2026, 1, 2, 3, 4, 5.678901r),
      on_day: Date.new(2026, 2, 3), flag: true, price: BigDecimal("12.34")
    )
    Item.create!(name: "zwö 🎉", flag: false)
    [
      Item.order(:id).map { |item| item.attributes.except("id") },
      Item.where(name: "zwö 🎉").pluck(:flag),
      Item.sum(:count),
      Item.average(:weight),
      Item.maximum(:seen_at),
      connection { |found| found.select_rows("SELECT name, count FROM items ORDER BY id") },
      connection { |found| found.exec_query("SELECT name FROM items ORDER BY id").columns }
    ]
  end

  def on_any_enum_and_serialized
    thing = Thing.create!(state: :worn, settings: { "a" => [1, nil, "x"] })
    [thing.reload.state, thing.settings, Thing.worn.count]
  end

  def on_any_insert_all
    Item.insert_all([{ name: "a", count: 1 }, { name: "b", count: 2 }])
    Item.upsert_all([{ id: Item.minimum(:id), name: "a2", count: 5 }], update_only: :name)
    Item.order(:count).pluck(:name, :count)
  end

  def on_any_batches
    Item.insert_all((1..25).map { |number| { name: "n#{number}", count: number } })
    [
      Item.where(name: "n1").update_all(name: "n1"),
      Item.in_batches(of: 10).map(&:count),
      Item.find_each(batch_size: 7).map(&:count).sum,
      Item.where("count > ?", 20).in_batches.update_all(name: "big"),
      Item.where(name: "big").delete_all
    ]
  end

  def on_any_explain
    Item.create!(name: "x")
    text = Item.where(name: "x").explain
    (text.respond_to?(:inspect) ? text.inspect : text.to_s).lines.first.strip
  end

  def on_any_prepared_statements
    3.times { |number| Item.create!(name: "p", count: number) }
    found = [1, 2, 1].map { |number| Item.find_by(name: "p", count: number)&.count }
    [
      found,
      connection { |here| [here.prepared_statements, Item.where(count: 2).pick(:name)] },
      connection { |here| here.unprepared_statement { Item.where(count: 2).pick(:name) } }
    ]
  end

  def on_any_query_cache
    Item.create!(name: "c")
    queries = counting { Base.cache { 3.times { Item.where(name: "c").to_a } } }
    [queries, counting { 2.times { Item.where(name: "c").to_a } }]
  end

  # --- Transactions ---

  def on_any_transactions
    Item.transaction { Item.create!(name: "kept") }
    Item.transaction do
      Item.create!(name: "lost")
      raise ActiveRecord::Rollback
    end
    failed = outcome { Item.transaction { Item.create!(name: "lost too") && raise("boom") } }
    [Item.pluck(:name), failed, connection(&:transaction_open?)]
  end

  def on_any_savepoints
    Item.transaction do
      Item.create!(name: "outer")
      Item.transaction(requires_new: true) do
        Item.create!(name: "inner")
        raise ActiveRecord::Rollback
      end
      Item.create!(name: "last")
    end
    Item.order(:id).pluck(:name)
  end

  def on_any_isolation_levels
    Item.transaction(isolation: :serializable) { Item.create!(name: "alone") }
    [Item.count,
     outcome { Item.transaction { Item.transaction(isolation: :serializable) { nil } } }]
  end

  def on_any_callbacks_after_commit
    said = []
    model = Class.new(Item) do
      define_singleton_method(:name) { "Called" }
      after_commit { said << [:commit, name] }
      after_rollback { said << [:rollback, name] }
    end
    model.create!(name: "a")
    model.transaction { model.create!(name: "b") && raise(ActiveRecord::Rollback) }
    said
  end

  # --- Errors ---

  def on_any_errors
    Item.create!(id: 7, name: "unique")
    {
      unique: -> { Item.insert!({ id: 7, name: "again" }) },
      null: -> { Item.insert!({ name: nil }) },
      long: -> { Item.insert!({ name: "x" * 300 }) },
      range: -> {
        connection do |found|
          found.execute("INSERT INTO items (name, small) VALUES ('r', 99999999)")
        end
      },
      key: -> { Thing.insert!({ item_id: 999_999 }) },
      syntax: -> { connection { |found| found.execute("SELEKT 1") } },
      missing: -> { connection { |found| found.select_value("SELECT 1 FROM nowhere") } },
      readonly: -> { ActiveRecord::Base.while_preventing_writes { Item.create!(name: "no") } }
    }.transform_values { |work| outcome(&work) }
  end

  def on_any_deadlock
    one, two = %w[one two].map { |name| Item.create!(name: name).id }
    met = Array.new(2) { Thread::Queue.new }
    works = [[one, two], [two, one]].each_with_index.map do |(mine, others), number|
      lambda do
        outcome do
          Item.transaction do
            Item.lock.find(mine)
            met[1 - number] << true
            met[number].pop
            Item.lock.find(others).name && "locked"
          end
        end
      end
    end
    @crowd.together(*works).map { |found| found.is_a?(Hash) ? found["error"] : found }.sort
  end

  def on_any_no_wait_for_a_lock
    item = Item.create!(name: "held")
    met = Array.new(2) { Thread::Queue.new }
    holder = -> { hold(item, *met) }
    other = lambda do
      met[0].pop
      outcome { Item.transaction { Item.lock("FOR UPDATE NOWAIT").find(item.id) } }["error"]
    ensure
      met[1] << true
    end
    @crowd.together(holder, other)
  end

  # --- Connections ---

  def on_any_advisory_locks
    key = @pg ? 42 : "forty-two of #{@configuration[:database]}"
    connection do |mine|
      taken = mine.get_advisory_lock(key)
      refused = @crowd.together(-> {
        connection do |other|
          @pg ? other.get_advisory_lock(key) : other.get_advisory_lock(key, 0)
        end
      })
      [taken, refused, mine.release_advisory_lock(key), mine.release_advisory_lock(key)]
    end
  end

  def on_any_a_cut_connection_is_made_again
    connection { |found| cut(found) }
    [
      outcome { Item.where(name: "x").to_a },
      outcome { Item.count },
      connection { |found| found.select_value("SELECT 1") }
    ]
  end

  def on_any_a_cut_in_a_transaction_loses_it
    failed = outcome do
      Item.transaction do
        Item.create!(name: "lost")
        connection { |found| cut(found) }
        Item.create!(name: "lost too")
      end
    end
    [failed["error"], Item.count]
  end

  def on_any_reset_and_reconnect
    connection do |found|
      found.execute(@pg ? "SET statement_timeout TO 12345" : "SET @word = 'set'")
      found.reset!
      text = @pg ? "SELECT current_setting('statement_timeout')" : "SELECT @word"
      value = found.select_value(text)
      found.disconnect!
      [value, found.select_value("SELECT 2"), found.active?]
    end
  end

  def on_any_roles_and_shards
    readonly = @configuration.merge(replica: true)
    Base.connects_to(shards: {
      default: { writing: @configuration, reading: readonly },
      other: { writing: @configuration }
    })
    [
      Base.connected_to(role: :reading) { outcome { Item.create!(name: "no") } },
      Base.connected_to(shard: :other, role: :writing) do
        [Item.create!(name: "yes").name, Base.current_shard]
      end,
      Base.connected_to(role: :reading) { Item.count }
    ]
  ensure
    %i[default other].product(%i[writing reading]) do |shard, role|
      Base.connection_handler.remove_connection_pool(Base.name, role: role, shard: shard)
    end
    Base.connection_specification_name = nil if Base.respond_to?(:connection_specification_name=)
  end

  def on_any_pool
    pool = ActiveRecord::Base.connection_pool
    together = Array.new(pool.size * 3) do |number|
      -> { connection { |found| found.select_value("SELECT #{number}") } }
    end
    [
      @crowd.together(*together),
      pool.stat.slice(:size, :busy, :waiting),
      pool.connections.size <= pool.size
    ]
  end

  def on_any_fixtures
    fixtures = {
      "items" => [{ "id" => 1, "name" => "fixed" }],
      "things" => [{ "id" => 1, "state" => 1 }]
    }
    connection { |found| found.insert_fixtures_set(fixtures, %w[items things]) }
    [Item.pluck(:name), Thing.pluck(:state)]
  end

  # --- PostgreSQL ---

  def on_pg_types
    model = typed { attribute(:token, :uuid) && attribute(:extra, :jsonb) }
    row = model.create!(
      words: ["a", nil, "c,\"d\""], numbers: [[1, 2], [3, 4]], doc: { a: [1] },
      extra: { "b" => nil }, raw: "\x00\xFF\x01".b, token: "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
      span: 1...5, period: Time.utc(2026, 1, 1)...Time.utc(2026, 2, 1),
      at: Time.utc(2026, 3, 4, 5, 6, 7.891234r), long: ActiveSupport::Duration.build(93_784),
      address: "10.0.0.0/8", mood: "happy", bits: "101", amount: "12.5", spot: [1, 2]
    )
    found = model.find(row.id)
    attributes = found.attributes.except("id").transform_values do |value|
      value.respond_to?(:iso8601) && !value.is_a?(Time) ? value.iso8601 : value
    end
    columns = model.columns.map do |column|
      [column.name, column.sql_type, column.type, column.array, column.default_function]
    end
    [
      attributes,
      found.raw.encoding.name,
      columns,
      model.where("words @> ARRAY['a']::text[]").count,
      model.where(span: 2...3).or(model.where("doc ->> 'a' IS NOT NULL")).count
    ]
  end

  def on_pg_a_plan_that_has_become_wrong_is_made_again
    connection { |found| found.execute("CREATE TABLE plans (id serial, name text)") }
    model = Class.new(Base) { self.table_name = "plans" }
    model.create!(name: "x")
    2.times { model.find_by(name: "x") }
    connection { |found| found.execute("ALTER TABLE plans ADD COLUMN more int DEFAULT 3") }
    model.find_by(name: "x").name
  ensure
    connection { |found| found.execute("DROP TABLE IF EXISTS plans") }
  end

  def on_pg_serialization_failure
    item = Item.create!(name: "contended", count: 0)
    met = Array.new(2) { Thread::Queue.new }
    works = Array.new(2) do |number|
      lambda do
        outcome do
          Item.transaction(isolation: :serializable) do
            Item.sum(:count)
            met[1 - number] << true
            met[number].pop
            Item.where(id: item.id).update_all("count = count + 1")
          end
        end
      end
    end
    ended = @crowd.together(*works).map { |found| found.is_a?(Hash) ? found["error"] : found }
    ended.map(&:to_s).sort
  end

  def on_pg_timeouts_and_cancels
    timeout = outcome do
      Item.transaction do
        connection do |found|
          found.execute("SET LOCAL statement_timeout TO 1") && found.execute("SELECT pg_sleep(60)")
        end
      end
    end
    within = outcome do
      Item.transaction do
        connection do |found|
          found.execute("SET LOCAL lock_timeout TO 1") && found.select_value("SELECT 1")
        end
      end
    end
    [timeout["error"], within]
  end

  def on_pg_copy_and_notices
    raw = []
    connection do |found|
      driver = found.raw_connection
      driver.copy_data("COPY items (name) FROM STDIN") do
        %w[a b].each { |name| driver.put_copy_data("#{name}\n") }
      end
      driver.copy_data("COPY items (name) TO STDOUT") do
        (row = driver.get_copy_data) && (raw << row) while row || raw.empty?
      end
      driver.exec("LISTEN news")
      driver.exec("NOTIFY news, 'extra'")
      raw << driver.wait_for_notify(60) { |channel, _pid, payload| raw << [channel, payload] }
    ensure
      driver.exec("UNLISTEN *")
    end
    raw
  end

  def on_pg_extras
    connection do |found|
      [
        found.enum_types,
        found.extensions.include?("plpgsql"),
        found.current_schema,
        found.schema_search_path,
        found.encoding,
        found.collation,
        found.max_identifier_length,
        found.quote("it's"),
        found.quote_table_name("a.b"),
        found.indexes("typed").map(&:using),
        found.foreign_keys("things").map(&:to_table)
      ]
    end
  end

  # --- MySQL ---

  def on_mysql_types
    model = typed
    row = model.create!(
      big: 18_446_744_073_709_551_615, doc: '{"a": [1]}', raw: "\x00\xFF\x01".b,
      at: Time.utc(2026, 3, 4, 5, 6, 7.891234r), yes: true, kind: "b", kinds: "a,c",
      amount: BigDecimal("123.4567"), long: "ü🎉" * 1000, part: 1.25
    )
    found = model.find(row.id)
    columns = model.columns.map do |column|
      [column.name, column.sql_type, column.type, column.unsigned?, column.default]
    end
    [found.attributes.except("id"), found.raw.encoding.name, found.long.encoding.name, columns]
  end

  def on_mysql_many_statements
    connection do |found|
      inserts = %w[a b].map { |name| "INSERT INTO items (name) VALUES ('#{name}')" }
      many = -> { found.send(:execute_batch, inserts, "Many") }
      if found.respond_to?(:with_multi_statements, true)
        found.send(:with_multi_statements, &many)
      else
        many.call # 8.0 does that by itself
      end
      found.truncate_tables("things")
    end
    several = outcome { connection { |found| found.execute("SELECT 1; SELECT 2") } }
    [Item.pluck(:name).sort, several["error"]]
  end

  def on_mysql_extras
    connection do |found|
      [
        found.charset,
        found.collation,
        found.mariadb?,
        found.show_variable("max_connections"),
        found.quote("it's \\"),
        found.quote_table_name("a.b"),
        found.indexes("items").map(&:name),
        found.foreign_keys("things").map(&:to_table),
        found.strict_mode?
      ]
    end
  end

  def on_mysql_lock_wait_timeout
    item = Item.create!(name: "held")
    met = Array.new(2) { Thread::Queue.new }
    holder = -> { hold(item, *met) }
    other = lambda do
      met[0].pop
      connection do |found|
        found.execute("SET innodb_lock_wait_timeout = 1")
        outcome { Item.transaction { Item.lock.find(item.id) } }["error"]
      end
    ensure
      met[1] << true
    end
    @crowd.together(holder, other)
  end

  private

  def connection(&block)
    base = ActiveRecord::Base
    return base.with_connection(&block) if base.respond_to?(:with_connection)

    base.connection_pool.with_connection(&block)
  end

  # Locks the row, says so, and keeps it until it is told to let go.
  def hold(item, held, over)
    Item.transaction { Item.lock.find(item.id) && (held << true) && over.pop } && "held"
  end

  # The types in it are looked up by the adapter's name, once it is connected.
  def typed(&types)
    Class.new(Base) { self.table_name = "typed" }.tap { |model| model.class_eval(&types) if types }
  end

  # @return what the block returned, or its error in words
  def outcome
    yield
  rescue StandardError => e
    message = e.message.lines.first.to_s.gsub(/0x\h+|process \d+|\d+ ms/i, "N").strip
    { "error" => e.class.name, "cause" => e.cause&.class&.name, "message" => message }
  end

  def timed(_name)
    Timeout.timeout(30) { yield }
  rescue Timeout::Error => e
    e.backtrace.first(20)
  end

  def prepare
    connection do |found|
      %w[things items typed].each { |table| found.drop_table(table, if_exists: true) }
      found.create_table(:items, **(@pg ? {} : { charset: "utf8mb4" }), &method(:columns_of_items))
      found.create_table(:things) do |t|
        t.integer :state, default: 0
        t.text :settings
        t.references :item, foreign_key: true
      end
      @pg ? prepare_pg(found) : prepare_mysql(found)
    end
    Thing.serialize :settings, coder: JSON
    Thing.enum :state, { fresh: 0, worn: 1 }
    [Thing, Item].each(&:reset_column_information)
    wrap_scenarios
  end

  def columns_of_items(table)
    table.string :name, null: false, limit: 255, index: true
    table.float :weight
    table.integer :count, default: 0
    table.integer :small, limit: 2
    table.datetime :seen_at, precision: 6
    table.date :on_day
    table.boolean :flag, default: false
    table.decimal :price, precision: 10, scale: 2
  end

  def prepare_pg(found)
    found.execute("DROP TYPE IF EXISTS mood")
    found.execute("CREATE TYPE mood AS ENUM ('happy', 'sad')")
    found.execute(<<~SQL)
      CREATE TABLE typed (
        id bigserial primary key, words text[], numbers int[][], doc json, extra jsonb, raw bytea,
        token uuid DEFAULT gen_random_uuid(), span int4range, period tstzrange, at timestamptz(6),
        long interval, address inet, mood mood, bits bit(3), amount money, spot point
      )
    SQL
    found.add_index(:typed, :extra, using: :gin)
  end

  def prepare_mysql(found)
    found.execute(<<~SQL)
      CREATE TABLE typed (
        id bigint auto_increment primary key, big bigint unsigned, doc json, raw blob,
        at datetime(6), yes tinyint(1), kind enum('a', 'b'), kinds set('a', 'b', 'c'),
        amount decimal(10, 4), long_ int, `long` text CHARACTER SET utf8mb4, part float
      ) DEFAULT CHARSET utf8mb4
    SQL
  end

  # Each begins with empty tables.
  def wrap_scenarios
    singleton_class.prepend(Module.new do
      RecordsContract.public_instance_methods(false).grep(/\Aon_/).each do |name|
        define_method(name) do
          [Thing, Item].each(&:delete_all)
          super()
        end
      end
    end)
  end

  def cut(found)
    id = found.select_value(@pg ? "SELECT pg_backend_pid()" : "SELECT connection_id()")
    text = @pg ? "SELECT pg_terminate_backend(#{id}, 60000)" : "KILL #{id}"
    @crowd.together(-> {
      connection { |other| @pg ? other.select_value(text) : other.execute(text) }
    })
  end

  def counting
    count = 0
    counter = ->(*, payload) { count += 1 unless payload[:cached] || payload[:name] == "SCHEMA" }
    ActiveSupport::Notifications.subscribed(counter, "sql.active_record") { yield }
    count
  end

  def databases
    text = @pg ? "SELECT datname FROM pg_database" : "SHOW DATABASES"
    connection { |found| found.select_values(text) }
  end

  def quietly
    old = $stdout, $stderr, ActiveRecord::Migration.verbose
    $stdout = $stderr = StringIO.new
    ActiveRecord::Migration.verbose = false
    yield
  ensure
    $stdout, $stderr, ActiveRecord::Migration.verbose = old
  end

  def new_migrator(way, steps)
    pool = ActiveRecord::Base.connection_pool
    ActiveRecord::Migrator.new(way, steps, pool.schema_migration.tap(&:create_table),
                               pool.internal_metadata.tap(&:create_table))
  end

  def old_migrator(way, steps)
    here = ActiveRecord::Base.connection
    ActiveRecord::Migrator.new(way, steps, here.schema_migration.tap(&:create_table),
                               here.internal_metadata.tap(&:create_table))
  end
end

require_relative "async_contract"
