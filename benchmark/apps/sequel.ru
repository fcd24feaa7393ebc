# frozen_string_literal: true

# Answers with JSON of what Sequel reads from PostgreSQL. GET /fibers/N: every Nth request runs a
# query that takes LONG_MS. 0 means none.
# GET /blocking/N does the same, but in NeverBlock its waits keep the thread, as they would without
# fibers. So one process runs both modes. Other servers treat both paths alike.
warn "bench: yjit=#{defined?(RubyVM::YJIT) ? RubyVM::YJIT.enabled? : false}"

require "json"
require "sequel"

# Without it all fibers of Falcon would share a connection. NeverBlock does this itself.
Sequel.extension :fiber_concurrency if defined?(Falcon)

LONG_S = Integer(ENV.fetch("NB_BENCH_LONG_MS"), 10) / 1000.0
TRACKS = 50
TALKS = 10
DB = Sequel.connect(ENV.fetch("DATABASE_URL"),
                    max_connections: Integer(ENV.fetch("NB_BENCH_POOL"), 10), pool_timeout: 60)

DB.transaction do
  DB.get(Sequel.function(:pg_advisory_xact_lock, 1)) # one worker of several
  unless DB.table_exists?(:talks)
    DB.create_table(:talks) do
      primary_key :id
      Integer :track, index: true
      String :title
      String :speaker
    end
    DB[:talks].import(%i[track title speaker], Array.new(TRACKS * TALKS) { |number|
      [number % TRACKS, "Talk number #{number}", "Speaker #{number % 7}"]
    })
  end
end
DB.disconnect

asked = 0
track = 0

answer = lambda do |every|
  if every.positive? && ((asked += 1) % every).zero?
    DB.get(Sequel.function(:pg_sleep, LONG_S))
    { long: LONG_S }
  else
    { talks: DB[:talks].where(track: track = (track + 1) % TRACKS).order(:id).all }
  end
end

run(lambda do |env|
  _, mode, every = env["PATH_INFO"].split("/")
  next [200, { "content-type" => "text/plain" }, ["Hello World"]] unless mode

  every = every.to_i
  found = if mode == "blocking" && defined?(NeverBlock)
            NeverBlock.neverblock(false) { answer.call(every) }
          else
            answer.call(every)
          end
  [200, { "content-type" => "application/json" }, [JSON.generate(found)]]
end)
