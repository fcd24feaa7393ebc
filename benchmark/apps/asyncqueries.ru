# frozen_string_literal: true

# Three asynchronous queries a request, as Rails' executor frames them: /slow has queries of
# LONG_MS, /fast queries that cost nothing.
warn "bench: yjit=#{defined?(RubyVM::YJIT) ? RubyVM::YJIT.enabled? : false}"

require "active_record"

POOL = Integer(ENV.fetch("NB_BENCH_POOL"), 10)
LONG_S = Integer(ENV.fetch("NB_BENCH_LONG_MS"), 10) / 1000.0

ActiveRecord.async_query_executor = :global_thread_pool
ActiveRecord.global_executor_concurrency = POOL
ActiveRecord::AsynchronousQueriesTracker.install_executor_hooks
ActiveRecord::Base.logger = nil
ActiveRecord::Base.establish_connection(url: ENV.fetch("DATABASE_URL"), adapter: "postgresql",
                                        pool: POOL, checkout_timeout: 60)

# Rails' own ConnectionPool#schedule_query takes the queries then.
if ENV["NB_BENCH_ASYNC"] == "threads"
  NeverBlock::DB::ActiveRecord::AsyncQueries.define_singleton_method(:of) { |_| nil }
end

class Step < ActiveRecord::Base; end

Step.with_connection do |connection|
  connection.execute("SELECT pg_advisory_lock(1)")
  connection.create_table(:steps, if_not_exists: true) { |table| table.string :name }
  Step.create!(name: "one") unless Step.exists?
ensure
  connection.execute("SELECT pg_advisory_unlock(1)")
end
Step.load_schema
ActiveRecord::Base.connection_handler.clear_all_connections!(:all)

LOADS = {
  "/slow" => -> { Step.where("pg_sleep(#{LONG_S}) IS NOT NULL").load_async },
  "/fast" => -> { Step.where(name: "one").load_async }
}.freeze

run(lambda do |env|
  later = LOADS[env["PATH_INFO"]] or next [200, { "content-type" => "text/plain" }, ["Hello World"]]
  found = ActiveSupport::Executor.wrap { Array.new(3) { later.call }.sum(&:size) }
  [200, { "content-type" => "text/plain" }, [found.to_s]]
end)
