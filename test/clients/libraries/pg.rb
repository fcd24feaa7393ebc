# frozen_string_literal: true

require "tempfile"
require_relative "../support/library"

# Each call of pg that talks to the server. A turnstile before the server holds FIBERS of them, on a
# connection each, until all have been sent.
module PgCalls
  FIBERS = 6
  # Longer than any answer takes, and shorter than a check may take. It ends a call that keeps the
  # thread.
  STATEMENT_MS = 20_000

  def address(**options)
    { host: "127.0.0.1", port: port(:postgresql), user: "postgres", dbname: "postgres",
      sslmode: "disable", options: "-c statement_timeout=#{STATEMENT_MS}" }
      .merge(options)
  end

  def connect(**options)
    PG.connect(address(**options))
  end

  def with_connections(count = FIBERS, **options)
    connections = fibers(count) { connect(**options) }
    yield connections
  ensure
    connections&.each { |connection| connection.finish unless connection.finished? }
  end

  # Runs each call in FIBERS fibers at once.
  # @param calls [Hash{Symbol => Proc}] each gets a connection and a token; its value includes the
  #   token, or is true
  # @param prepare [Proc] is called before, on each connection
  def all_together(calls, **options)
    turn = turnstile(port(:postgresql))
    with_connections(port: turn, **options) do |connections|
      calls.each do |name, (call, prepare)|
        connections.each { |connection| prepare&.call(connection) }
        together(name, turn, connections, call)
      end
    end
    "#{calls.size} calls: #{calls.keys.join(", ")}"
  end

  def together(name, turn, connections, call)
    inside_at_once(FIBERS, through: turn) do |index|
      mine = "#{index}-#{token}"
      value = call.call(connections[index], mine)
      hold(value == true || value.to_s.include?(mine),
           "#{name}: wanted #{mine}, got #{value.inspect[0, 100]}")
    end
  rescue Clients::Blocked => e
    raise Clients::Blocked, "#{name}: #{e.message}"
  end

  # Connections that are made in FIBERS fibers at once, each asked something.
  def connect_together(turn, **options)
    inside_at_once(FIBERS, through: turn) do |index|
      connection = connect(**options)
      same(index.to_s, connection.exec_params("select $1::text", [index]).getvalue(0, 0))
      connection.finish
    end
    "#{FIBERS} connections"
  end

  # A lock that every fiber waits for in the server, until `count` do.
  # @yieldparam lock [String] SQL of a call that waits
  def behind_a_lock(count)
    key = rand(1 << 40)
    gate = connect
    gate.exec("select pg_advisory_lock(#{key})")
    together = false
    Fiber.schedule do
      waiting = "select count(*) from pg_locks where locktype = 'advisory' and not granted and " \
                "(classid::bigint << 32 | objid::bigint) = #{key}"
      eventually("#{count} inside") { gate.exec(waiting).getvalue(0, 0).to_i >= count }
      together = true
    rescue Clients::Blocked
      nil
    ensure
      gate.finish
    end
    value = yield "pg_advisory_lock_shared(#{key})"
    raise Clients::Blocked, "#{count} were not inside at once" unless together

    value
  end

  # One query that waits for a lock until the block has ended.
  def held
    key = rand(1 << 40)
    gate = connect
    gate.exec("select pg_advisory_lock(#{key})")
    yield "pg_advisory_lock_shared(#{key})", gate
  ensure
    gate&.finish
  end

  def text(result)
    result.getvalue(0, 0)
  end

  # @return [Hash{Symbol => Array(Proc, Proc)}] each call, and what has to be done before
  def queries
    prepare = ->(c) { c.exec("deallocate all") && c.prepare("told", "select $1::text") }
    {
      exec: [->(c, mine) { text(c.exec("select '#{mine}'")) }],
      query: [->(c, mine) { text(c.query("select '#{mine}'")) }],
      exec_params: [->(c, mine) { text(c.exec_params("select $1::text", [mine])) }],
      prepare: [
        ->(c, mine) { c.prepare("p", "select $1::text") && text(c.exec_prepared("p", [mine])) },
        prepare
      ],
      exec_prepared: [->(c, mine) { text(c.exec_prepared("told", [mine])) }, prepare],
      describe_prepared: [->(c, _) { c.describe_prepared("told").nparams == 1 }, prepare],
      describe_portal: [->(c, _) { c.describe_portal("portal").nfields == 1 },
                        ->(c) { c.exec("rollback; begin; declare portal cursor for select 1") }],
      commit: [->(c, _) { c.exec("commit").cmd_status == "COMMIT" }],
      set_client_encoding: [
        ->(c, _) { c.set_client_encoding("UTF8") || c.get_client_encoding == "UTF8" }
      ],
      encrypt_password: [
        ->(c, _) { c.encrypt_password("secret", "postgres").start_with?("SCRAM-SHA-256$") }
      ],
      transaction: [->(c, mine) { c.transaction { text(c.exec("select '#{mine}'")) } }],
      send_query: [->(c, mine) { c.send_query("select '#{mine}'") || text(c.get_last_result) }],
      get_result: [->(c, mine) {
        c.send_query("select '#{mine}'") || text(c.get_result).tap { c.discard_results }
      }],
      stream_each: [lambda { |c, mine|
        c.send_query("select '#{mine}' as mine from generate_series(1, 3)")
        c.set_single_row_mode
        c.get_result.stream_each.map { |row| row["mine"] }.tap { c.get_result }
      }],
      discard_results: [->(c, _) {
        c.send_query("select 1") || c.discard_results || c.exec("select 1").ntuples == 1
      }],
      block: [->(c, _) { c.send_query("select 1") || (c.block && c.get_last_result.ntuples == 1) }],
      pipeline: [lambda { |c, mine|
        c.enter_pipeline_mode
        c.send_query_params("select $1::text", [mine])
        c.pipeline_sync
        text(c.get_result).tap do
          c.get_result
          c.get_result
          c.exit_pipeline_mode
        end
      }],
      cancel: [->(c, _) { c.cancel.nil? }]
    }.merge(closing)
  end

  # Where libpq is 17 or newer.
  def closing
    return {} unless PG::Connection.method_defined?(:close_prepared)

    { close_prepared: [->(c, _) { c.close_prepared("told").result_status == PG::PGRES_COMMAND_OK },
                       ->(c) { c.exec("deallocate all") && c.prepare("told", "select 1") }],
      close_portal: [->(c, _) { c.close_portal("none").result_status == PG::PGRES_COMMAND_OK }] }
  end

  def sync
    prepare = ->(c) { c.exec("deallocate all") && c.prepare("told", "select $1::text") }
    calls = {
      sync_exec: [->(c, mine) { text(c.sync_exec("select '#{mine}'")) }],
      sync_exec_params: [->(c, mine) { text(c.sync_exec_params("select $1::text", [mine])) }],
      sync_prepare: [
        ->(c, _) { c.sync_prepare("p", "select 1").result_status == PG::PGRES_COMMAND_OK }, prepare
      ],
      sync_exec_prepared: [->(c, mine) { text(c.sync_exec_prepared("told", [mine])) }, prepare],
      sync_describe_prepared: [->(c, _) { c.sync_describe_prepared("told").nparams == 1 }, prepare],
      sync_get_result: [->(c, mine) {
        c.send_query("select '#{mine}'") || text(c.sync_get_result).tap { c.discard_results }
      }],
      sync_get_last_result: [
        ->(c, mine) { c.send_query("select '#{mine}'") || text(c.sync_get_last_result) }
      ],
      sync_set_client_encoding: [
        ->(c, _) { c.sync_set_client_encoding("UTF8") || c.get_client_encoding == "UTF8" }
      ],
      sync_encrypt_password: [
        ->(c, _) { c.sync_encrypt_password("secret", "postgres").start_with?("SCRAM-SHA-256$") }
      ],
      sync_cancel: [->(c, _) { c.sync_cancel.nil? }]
    }
    return calls unless PG::Connection.method_defined?(:async_close_prepared)

    calls.merge(
      sync_close_prepared: [->(c, _) { c.sync_close_prepared("told").result_status == 1 }, prepare]
    )
  end

  # Each in a transaction that is open, on an object of its own.
  def large_objects
    made = {}
    opened = lambda do |c|
      c.exec("rollback; begin")
      made[c] = [oid = c.lo_create(0), descriptor = c.lo_open(oid, PG::INV_READ | PG::INV_WRITE)]
      c.lo_write(descriptor, "abc\x00def".b * 100)
      c.lo_lseek(descriptor, 4, PG::SEEK_SET)
    end
    {
      lo_creat: [->(c, _) { c.lo_creat(PG::INV_READ).positive? }],
      lo_create: [->(c, _) { c.lo_create(0).positive? }],
      lo_open: [->(c, _) { c.lo_open(made[c][0]) >= 0 }, opened],
      lo_write: [->(c, mine) { c.lo_write(made[c][1], mine) == mine.bytesize }, opened],
      lo_read: [->(c, _) { c.lo_read(made[c][1], 3) == "def".b }, opened],
      lo_lseek: [->(c, _) { c.lo_lseek(made[c][1], 0, PG::SEEK_END) == 700 }, opened],
      lo_tell: [->(c, _) { c.lo_tell(made[c][1]) == 4 }, opened],
      lo_truncate: [->(c, _) { c.lo_truncate(made[c][1], 10).nil? }, opened],
      lo_close: [->(c, _) { c.lo_close(made[c][1]).nil? }, opened],
      lo_unlink: [->(c, _) { c.lo_unlink(made[c][0]).nil? }, opened],
      lo_import: [->(c, _) { (made[c] = c.lo_import(__FILE__)).positive? },
                  ->(c) { c.exec("rollback; begin") }],
      lo_export: [->(c, _) {
        Tempfile.create("nb-pg") { |file|
          c.lo_export(made[c], file.path) || File.read(file.path) == File.read(__FILE__)
        }
      }]
    }
  end

  # The block ends a wait for the lock. Then the same connection is asked again.
  def ended_midway
    connection = connect
    held do |lock, gate|
      yield connection, "select 'of the one that was ended' from (select #{lock}) as waited", gate
      gate.exec("select pg_advisory_unlock_all()")
      mine = token
      same([[mine]], connection.exec_params("select $1::text", [mine]).values)
      same(PG::PQTRANS_IDLE, connection.transaction_status)
    end
    connection.finish
  end

  # Once somebody waits for the lock.
  def when_waiting(gate)
    Fiber.schedule do
      eventually("a waiter") do
        gate.exec("select count(*) from pg_locks where locktype = 'advisory' and not granted")
            .getvalue(0, 0).to_i.positive?
      end
      yield
    end
  end

  def sockets
    Dir.children("/proc/self/fd").count do |number|
      File.readlink("/proc/self/fd/#{number}").start_with?("socket:")
    rescue SystemCallError
      false
    end
  end
end

Clients.library("pg", PgCalls) do
  requires "pg"
  needs :postgresql
  note "all calls: docs/guides/postgresql.md"

  check(:together, "#{PgCalls::FIBERS} connect at once: by address") do
    turn = turnstile(port(:postgresql))
    connect_together(turn, port: turn)
  end
  check(:by_name, "by the name localhost") do
    turn = turnstile(port(:postgresql))
    connect_together(turn, port: turn, host: "localhost")
  end
  check(:hosts, "by several hosts, of which the first refuses") do
    turn = turnstile(port(:postgresql))
    connect_together(turn, host: "127.0.0.1,localhost", port: "#{port(:refused)},#{turn}")
  end
  check(:unix, "by a UNIX socket") do
    behind_a_lock(PgCalls::FIBERS) do |lock|
      fibers(PgCalls::FIBERS) do
        connect(host: port(:postgresql_folder)).tap { |connection|
          connection.exec("select #{lock}")
        }.finish
      end
    end
  end
  check(:tls, "with TLS, certificate verified") do
    turn = turnstile(port(:postgresql))
    connect_together(turn, port: turn, host: "localhost", sslmode: "verify-full",
                     sslrootcert: File.join(port(:postgresql_folder), "server.pem"))
  end
  check(:library, "libpq's own reading while it connects (a certificate's file that comes late)") do
    Dir.mktmpdir do |folder|
      fifo = File.join(folder, "ca.pem")
      File.mkfifo(fifo)
      ticks = nil
      writer = Thread.new do
        60.times { ticks.to_i < 5 ? sleep(0.1) : break }
        File.write(fifo, File.read(File.join(port(:postgresql_folder), "server.pem")))
      end
      Fiber.schedule { 100.times { |tick| ticks = tick if sleep(Clients::Play::TICK_S) } }
      while_ticking { connect(host: "localhost", sslmode: "verify-full", sslrootcert: fifo).finish }
      writer.join
    end
    nil
  end
  check(:reset, "reset") do
    turn = turnstile(port(:postgresql))
    with_connections(port: turn) do |connections|
      inside_at_once(PgCalls::FIBERS, through: turn, connections: 2 * PgCalls::FIBERS) do |index|
        connections[index].reset.exec("select 1")
      end
    end
    nil
  end
  check(:ping, "PG::Connection.ping") do
    turn = turnstile(port(:postgresql))
    same([PG::PQPING_OK] * PgCalls::FIBERS, inside_at_once(PgCalls::FIBERS, through: turn) {
      PG::Connection.ping(address(port: turn))
    })
    nil
  end
  check(:queries, "all that asks and waits, call by call") { all_together(queries) }
  check(:queries_tls, "the same with TLS") { all_together(queries, sslmode: "require") }
  check(:sync, "the sync_ calls") { all_together(sync) }
  check(:large_objects, "large objects") { all_together(large_objects) }

  check(:notify, "20 wait_for_notify wait inside at once, each is told its own") do
    ready = 0
    sender = connect
    Fiber.schedule do
      eventually("20 listeners") { ready == 20 }
      20.times { |index| sender.exec("notify channel_#{index}, 'for #{index}'") }
      sender.finish
    end
    fibers(20) do |index|
      connection = connect
      connection.exec("listen channel_#{index}")
      ready += 1
      told = nil
      same("channel_#{index}", connection.wait_for_notify { |_, _, payload| told = payload })
      same("for #{index}", told)
      connection.finish
    end
    nil
  end
  check(:notify_limit, "wait_for_notify within a time, while others go on") do
    connection = connect
    same(nil, while_ticking { connection.wait_for_notify(0.4) })
    connection.finish
  end

  check(:single_row, "rows one by one: all wait for a row in the middle") do
    behind_a_lock(PgCalls::FIBERS) do |lock|
      fibers(PgCalls::FIBERS) do
        connection = connect
        connection.send_query("select i, case when i = 500 then #{lock}::text end " \
                              "from generate_series(1, 1000) i")
        connection.set_single_row_mode
        same(1000, connection.get_result.stream_each.count)
        connection.get_result
        connection.finish
      end
    end
    nil
  end
  check(:big, "a result of 50 MB in 50 rows, of 500,000 rows, and rows one by one: others go on") do
    connection = connect
    same(50, while_ticking {
      connection.exec("select repeat('x', 1000000) from generate_series(1, 50)")
    }.ntuples)
    many = while_ticking { connection.exec("select i, i + 1 from generate_series(1, 500000) i") }
    same(%w[500000 500001], while_ticking { many.values }.last)
    same({ "i" => "1", "?column?" => "2" }, while_ticking { many.to_a }.first)
    same([500_000, 0, 1], [many.count, many.count("i" => "1"), many.first(1).size])
    same(1, while_ticking { many.count { |row| row["i"] == "3" } })
    while_ticking do
      connection.send_query("select i from generate_series(1, 200000) i")
      connection.set_single_row_mode
      same(200_000, connection.get_result.stream_each_row.sum { 1 })
      connection.get_result
    end
    connection.finish
  end
  check(:copy_out, "COPY out: all wait for a row in the middle") do
    behind_a_lock(PgCalls::FIBERS) do |lock|
      fibers(PgCalls::FIBERS) do
        connection = connect
        rows = 0
        connection.copy_data("copy (select i, case when i = 500 then #{lock}::text end " \
                             "from generate_series(1, 1000) i) to stdout") do
          rows += 1 while connection.get_copy_data
        end
        same(1000, rows)
        connection.finish
      end
    end
    nil
  end
  check(:copy_in, "COPY in: all wait with full buffers for a server that does not read") do
    line = "#{"x" * 65_535}\n"
    behind_a_lock(PgCalls::FIBERS) do |lock|
      fibers(PgCalls::FIBERS) do
        connection = connect
        connection.exec("create temp table lines (line text)")
        connection.exec("create function pg_temp.wait() returns trigger as $$ " \
                        "begin perform #{lock}; return new; end $$ language plpgsql")
        connection.exec("create trigger wait before insert on lines " \
                        "execute function pg_temp.wait()")
        connection.copy_data("copy lines from stdin") do
          300.times { connection.put_copy_data(line) }
        end
        same("300", text(connection.exec("select count(*) from lines")))
        connection.finish
      end
    end
    nil
  end
  check(:copy_turns, "COPY of rows that need not be waited for: others go on") do
    connection = connect
    connection.exec("create temp table numbers (number int)")
    while_ticking do
      connection.copy_data("copy numbers from stdin") do
        200_000.times { |number| connection.put_copy_data("#{number}\n") }
      end
    end
    rows = 0
    while_ticking do
      connection.copy_data("copy numbers to stdout") { rows += 1 while connection.get_copy_data }
    end
    same(200_000, rows)
    connection.finish
  end

  check(:deadline,
        "a query that a deadline, a Timeout or Fiber#raise has ended leaves no row to the next") do
    ended_midway do |connection, sql|
      raises(NB::DeadlineExceeded) { NB.deadline(0.2) { connection.exec(sql) } }
    end
    ended_midway do |connection, sql|
      raises(Timeout::Error) { Timeout.timeout(0.2) { connection.exec_params(sql, []) } }
    end
    ended_midway do |connection, sql, gate|
      fiber = Fiber.current
      when_waiting(gate) { fiber.raise(ArgumentError, "enough") }
      raises(ArgumentError) { connection.exec(sql) }
    end
    ended_midway do |connection, sql|
      raises(NB::DeadlineExceeded) do
        NB.deadline(0.2) { connection.transaction { connection.exec(sql) } }
      end
      same(PG::PQTRANS_IDLE, connection.transaction_status)
    end
    nil
  end
  check(:midway, "rows and COPY that are left in the middle leave nothing to the next") do
    connection = connect
    connection.send_query("select i from generate_series(1, 100000) i")
    connection.set_single_row_mode
    connection.get_result.stream_each_row { |row| break row }
    same([["mine"]], connection.exec("select 'mine'").values)
    raises(ArgumentError) do
      connection.copy_data("copy (select i from generate_series(1, 100000) i) to stdout") do
        connection.get_copy_data && raise(ArgumentError)
      end
    end
    same([["mine"]], connection.exec("select 'mine'").values)
    connection.finish
  end
  check(:left, "a connection that is being made when its fiber is ended is closed") do
    turn = turnstile(port(:postgresql))
    Net::HTTP.get(URI(url("/turnstile/#{turn}/arm/2")))
    before = sockets
    raises(NB::DeadlineExceeded) { NB.deadline(0.2) { connect(port: turn) } }
    same(before, sockets)
  end
  check(:pool, "NB's pool: a connection that was cut is replaced; a query that a deadline has " \
               "ended is ended in the server too") do
    pool = NB::Pool::FiberedConnectionPool.new(size: 1) { connect }
    ask = ->(sql) { pool.hold { |connection| text(connection.exec(sql)) } }
    first = ask.call("select pg_backend_pid()")
    admin = connect
    admin.exec("select pg_terminate_backend(#{first})")
    eventually("its end") do
      admin.exec("select 1 from pg_stat_activity where pid = #{first}").ntuples.zero?
    end
    raises(PG::Error) { ask.call("select 1") }
    hold(ask.call("select pg_backend_pid()") != first,
         "the connection that was cut was given again")
    held do |lock|
      raises(NB::DeadlineExceeded) { NB.deadline(0.2) { ask.call("select #{lock}") } }
      eventually("no query before the lock") do
        admin.exec("select 1 from pg_locks where locktype = 'advisory' and not granted")
             .ntuples.zero?
      end
      same("1", ask.call("select 1"))
    end
    same({ size: 1, free: 1, held: 0, waiting: 0 }, pool.stats)
    pool.all_connections(&:finish)
    admin.finish
    nil
  end
  check(:dropped, "its own error when the server hangs up, and for a closed port") do
    raises(PG::ConnectionBad) { connect(port: port(:drop)) }
    raises(PG::ConnectionBad) { connect(port: port(:refused)) }.class.name
  end
  check(:elsewhere, "without a loop every call is pg's own") do
    connection = connect
    same(["t", 3, true], Thread.new do
      connection.transaction do
        descriptor = connection.lo_open(connection.lo_create(0), PG::INV_READ | PG::INV_WRITE)
        [text(connection.sync_exec("select true")), connection.lo_write(descriptor, "abc"),
         NeverBlock::Offload.pool.figures[:threads] == NeverBlock::Offload.pool.figures[:idle]]
      end
    end.value)
    connection.finish
  end
end
