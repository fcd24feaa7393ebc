# frozen_string_literal: true

require "fileutils"
require "tmpdir"
require_relative "../support/library"

# A database in a file, and another process's or fiber's write lock to wait for.
module SqliteCalls
  FIBERS = 50

  # @yieldparam path [String] of a database with a table `rows (value text)`
  def with_file
    Dir.mktmpdir("nb-sqlite-") do |folder|
      path = File.join(folder, "test.sqlite3")
      SQLite3::Database.new(path) { |database| database.execute("create table rows (value text)") }
      yield path
    end
  end

  def connect(path)
    database = SQLite3::Database.new(path)
    yield database if block_given?
    database
  end

  # Holds the write lock while the block runs.
  def locked(path)
    holder = connect(path)
    holder.execute("begin immediate")
    yield holder
  ensure
    holder&.close
  end

  # FIBERS fibers wait for the write lock, each with a connection of its own. The lock is freed when
  # all have come to their busy handler.
  # @yieldparam database [SQLite3::Database] for its busy handler
  def write_together(&handler)
    with_file do |path|
      locked(path) do |holder|
        inside = 0
        together = false
        Fiber.schedule do
          eventually("#{FIBERS} before the lock") { inside == FIBERS }
          together = true
        rescue Clients::Blocked
          nil
        ensure
          holder.execute("commit")
        end
        fibers(FIBERS) do |index|
          database = connect(path, &handler)
          inside += 1
          database.execute("insert into rows values (?)", ["fiber #{index}"])
          database.close
        end
        raise Clients::Blocked, "#{FIBERS} were not before the lock at once" unless together

        same(FIBERS, holder.get_first_value("select count(distinct value) from rows"))
      end
    end
    "#{FIBERS} fibers"
  end

  # A fiber waits for the lock, is ended there, and its connection is used again.
  def ended_midway
    with_file do |path|
      database = connect(path) { |made| made.busy_timeout = 30_000 }
      locked(path) { yield database }
      same(false, database.transaction_active?)
      database.execute("insert into rows values ('after')")
      same([["after"]], database.execute("select value from rows"))
      database.close
    end
  end
end

Clients.library("sqlite3", SqliteCalls) do
  requires "sqlite3"
  note "a statement computes and reads files with Ruby's lock: docs/guides/sqlite.md"

  check(:busy_timeout,
        "#{SqliteCalls::FIBERS} wait for a write lock at once, with busy_timeout=") do
    write_together { |database| database.busy_timeout = 30_000 }
  end
  check(:busy_handler_timeout, "with busy_handler_timeout=") do
    write_together { |database| database.busy_handler_timeout = 30_000 }
  end
  check(:busy_handler, "with a handler that only counts (ActiveRecord's `retries`)") do
    write_together { |database| database.busy_handler { |count| count <= 30_000 } }
  end

  check(:transactions, "#{SqliteCalls::FIBERS} fibers write at once, each in a transaction it " \
                       "waits in: none is refused") do
    with_file do |path|
      connect(path) { |database| database.execute("pragma journal_mode = wal") }.close
      fibers(SqliteCalls::FIBERS) do |index|
        database = connect(path) { |made| made.busy_timeout = 30_000 }
        database.transaction(:immediate) do
          database.execute("insert into rows values (?)", [index.to_s])
          sleep(0.001)
        end
        database.close
      end
      same(SqliteCalls::FIBERS,
           connect(path).get_first_value("select count(distinct value) from rows"))
    end
    nil
  end
  check(:refused, "SQLite3::BusyException when the time is over, while others go on") do
    with_file do |path|
      locked(path) do
        while_ticking {
          raises(SQLite3::BusyException) {
            database = connect(path) { |made| made.busy_timeout = 300 }
            database.execute("insert into rows values (1)")
          }
        }.class.name
      end
    end
  end
  check(:ended, "a wait that a deadline, a Timeout or Fiber#raise ends: with its own error, and " \
                "the connection goes on") do
    insert = ->(database) { database.execute("insert into rows values ('ended')") }
    ended_midway do |database|
      raises(NB::DeadlineExceeded) { NB.deadline(0.1) { insert.call(database) } }
    end
    ended_midway do |database|
      raises(Timeout::Error) do
        Timeout.timeout(0.1) { database.execute_batch2("insert into rows values ('ended')") }
      end
    end
    ended_midway do |database|
      fiber = Fiber.current
      Fiber.schedule { sleep(0.05) && fiber.raise(ArgumentError, "enough") }
      raises(ArgumentError) { database.transaction(:immediate) { nil } }
    end
    ended_midway do |database|
      database.busy_handler { raise ArgumentError, "of the handler" }
      raises(ArgumentError) { insert.call(database) }
      database.busy_timeout = 30_000
    end
    nil
  end
  check(:shared, "one connection used by 20 fibers: " \
                 "who comes while another waits for a lock, waits as well") do
    with_file do |path|
      database = connect(path) { |made| made.busy_timeout = 30_000 }
      locked(path) do |holder|
        Fiber.schedule { sleep(0.1) && holder.execute("commit") }
        fibers(20) do |index|
          database.execute("insert into rows values (?)", [index.to_s])
          same([[index.to_s]],
               database.execute("select value from rows where value = ?", [index.to_s]))
        end
      end
      same(20, database.get_first_value("select count(distinct value) from rows"))
      database.close
    end
    nil
  end
  check(:collected, "switches inside of SQLite under GC.stress") do
    with_file do |path|
      locked(path) do |holder|
        Fiber.schedule { sleep(0.05) && holder.execute("commit") }
        fibers(2) do |index|
          database = connect(path) { |made| made.busy_timeout = 30_000 }
          GC.stress = true
          database.execute("insert into rows values (?)", ["fiber #{index}"])
        end
      end
    ensure
      GC.stress = false
    end
    nil
  end
  check(:elsewhere, "without a loop: the same handlers, in threads") do
    Thread.new do
      with_file do |path|
        locked(path) do |holder|
          writers = Array.new(5) do
            Thread.new do
              connect(path) { |database| database.busy_timeout = 30_000 }
                .execute("insert into rows values (1)")
            end
          end
          Thread.pass
          holder.execute("commit")
          writers.each(&:join)
          same(5, holder.get_first_value("select count(*) from rows"))
        end
      end
    end.join
    nil
  end
end
