# frozen_string_literal: true

# The five workloads of 2008 through ActiveRecord, each at a path: /very-light to /very-heavy. /one
# runs a query that costs nothing, /slow one that takes LONG_MS.
# Rows are counted in a table that does not grow, and created in another one.
warn "bench: yjit=#{defined?(RubyVM::YJIT) ? RubyVM::YJIT.enabled? : false}"

require "active_record"

LONG_S = Integer(ENV.fetch("NB_BENCH_LONG_MS"), 10) / 1000.0
ROWS = 1000

# What Falcon's applications set by themselves.
ActiveSupport::IsolatedExecutionState.isolation_level = :fiber if defined?(::Falcon)
ActiveRecord::Base.logger = nil
ActiveRecord::Base.establish_connection(url: ENV.fetch(
  "DATABASE_URL"
), adapter: defined?(::NeverBlock) ? "neverblock_postgresql" : "postgresql",
                                        pool: Integer(ENV.fetch("NB_BENCH_POOL"), 10),
                                        checkout_timeout: 60)

class Item < ActiveRecord::Base; end
class Entry < ActiveRecord::Base; end

ActiveRecord::Base.transaction do
  ActiveRecord::Base.with_connection do |connection|
    connection.execute("SELECT pg_advisory_xact_lock(2008)") # each worker comes here
    connection.execute(
      "CREATE TABLE IF NOT EXISTS items (id serial PRIMARY KEY, kind int, weight int)"
    )
    connection.execute("CREATE INDEX IF NOT EXISTS items_kind ON items (kind)")
    unless Item.exists?
      connection.execute("INSERT INTO items (kind, weight) " \
                         "SELECT n % 10, n FROM generate_series(1, #{ROWS}) n")
    end
    connection.execute(
      "CREATE TABLE IF NOT EXISTS entries (id bigserial PRIMARY KEY, name text, count int)"
    )
    connection.execute("TRUNCATE entries")
  end
end
[Item, Entry].each(&:load_schema)
ActiveRecord::Base.connection_handler.clear_all_connections!(:all)

create = -> { Entry.create!(name: "made", count: 1) }
count = ->(kind) { Item.where(kind: kind).count }
unindexed = -> { Item.where("weight > ?", ROWS / 2).count }

WORK = {
  "/very-light" => -> { count.call(1) },
  "/light" => -> { count.call(1) && create.call.id },
  "/moderate" => lambda {
    Entry.transaction do
      count.call(1) && count.call(2) && create.call
      raise ActiveRecord::Rollback
    end
  },
  "/heavy" => -> { Entry.transaction { [1, 2, 3].each(&count) && create.call.update!(count: 2) } },
  "/very-heavy" => lambda {
    Entry.transaction do
      [1, 2, 3].each(&count)
      unindexed.call
      entry = create.call
      entry.update!(count: 2)
      entry.update!(name: "changed")
    end
  },
  "/one" => -> {
    ActiveRecord::Base.with_connection { |connection| connection.select_value("SELECT 1") }
  },
  "/slow" => -> {
    ActiveRecord::Base.with_connection { |connection|
      connection.select_value("SELECT 1 FROM pg_sleep(#{LONG_S})")
    }
  }
}.freeze

run(lambda do |env|
  work = WORK[env["PATH_INFO"]] or next [200, { "content-type" => "text/plain" }, ["Hello World"]]
  [200, { "content-type" => "text/plain" }, [work.call.to_s]]
end)
