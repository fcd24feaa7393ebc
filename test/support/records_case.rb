# frozen_string_literal: true

# What tests of ActiveRecord under a server share: real databases with a gate (a row that the test
# locks and queries wait for), and one application for all.

require "json"
require "mysql2"
require "pg"
require "uri"
require_relative "gate"
require_relative "server_process_case"
require_relative "services"

class RecordsCase < ServerProcessCase
  # A query that waits until the test lets go, on either database, and how to see who waits. The
  # answer is what was asked for.
  class Locks
    def initialize(name)
      @name = name
      @holder = connect
      @watcher = connect
      run(@holder, "SET client_min_messages TO error") if pg?
      run(@watcher, "SET client_min_messages TO error") if pg?
      engine = " ENGINE=InnoDB" unless pg?
      run(@holder, "CREATE TABLE IF NOT EXISTS gates (id int primary key)#{engine}")
      insert = if pg?
                 "INSERT INTO gates VALUES (1) ON CONFLICT DO NOTHING"
               else
                 "INSERT IGNORE INTO gates VALUES (1)"
               end
      run(@holder, insert)
    end

    # Calls the block while every query that waits at the gate waits.
    def closed
      run(@holder, "BEGIN")
      run(@holder, "SELECT * FROM gates WHERE id = 1 FOR UPDATE")
      yield
    ensure
      open
    end

    def open
      run(@holder, "COMMIT")
    end

    # @param answer [String]
    # @return [String] SQL
    def sql(answer)
      "SELECT '#{answer}' FROM gates WHERE id = 1 #{pg? ? "FOR SHARE" : "LOCK IN SHARE MODE"}"
    end

    # @return [Integer] how many queries wait at the gate
    def waiting
      text = if pg?
               "SELECT count(*) FROM pg_stat_activity " \
                 "WHERE wait_event_type = 'Lock' AND query LIKE '%gates%'"
             else
               "SELECT count(*) FROM information_schema.processlist " \
                 "WHERE info LIKE '%gates%LOCK IN SHARE MODE'"
             end
      Integer(value(text))
    end

    def value(sql)
      result = run(@watcher, sql)
      pg? ? result.getvalue(0, 0) : result.first.values.first
    end

    def run(connection, sql)
      pg? ? connection.exec(sql) : connection.query(sql)
    end

    def execute(sql)
      run(@watcher, sql)
    end

    def close
      [@holder, @watcher].each(&:close)
    end

    private

    def pg?
      @name == "pg"
    end

    def connect
      if pg?
        PG.connect(host: "127.0.0.1", port: Services.postgresql.port,
                   user: "postgres", dbname: "postgres")
      else
        Mysql2::Client.new(host: "127.0.0.1", port: Services.mariadb.port,
                           username: "root", database: "test")
      end
    end
  end

  NAMES = %w[pg mysql2 trilogy].freeze
  # Options of the server.
  ADMIN = ["--admin", "http://127.0.0.1:0"].freeze

  def self.app
    <<~RACKUP
      require "#{File.expand_path("app_records", __dir__)}"
      run RecordsApp.new
    RACKUP
  end

  # A line that a test holds up for longer than ActiveRecord's 5 s is no error.
  # @param prefix [String] of the adapters' names
  # @param further [Hash] for each configuration
  # @return [Hash]
  def self.pools(prefix, checkout_timeout: 2 * Patience::SECONDS, **further)
    further = { checkout_timeout: checkout_timeout, **further }
    mariadb = { host: "127.0.0.1", port: Services.mariadb.port, username: "root", database: "test" }
    postgresql = { host: "127.0.0.1", port: Services.postgresql.port,
                   username: "postgres", database: "postgres" }
    {
      pg: { adapter: "#{prefix}postgresql", **postgresql, **further },
      mysql2: { adapter: "#{prefix}mysql2", **mariadb, **further },
      trilogy: { adapter: "#{prefix}trilogy", **mariadb, **further }
    }
  end

  # Before threads ask it.
  def setup
    server
  end

  private

  # Runs the block for each database.
  # @yieldparam name [String]
  # @yieldparam locks [Locks]
  def each_database
    NAMES.each do |name|
      locks = Locks.new(name)
      yield name, locks
    ensure
      locks&.close
    end
  end

  def path(name, route, **query)
    "/#{name}/#{route}?#{URI.encode_www_form(query)}"
  end

  # @return [Array<Thread>] whose value is what was answered
  def ask_at_once(count, name, route)
    Array.new(count) do |number|
      query = yield(number)
      Thread.new { parsed(ask(path(name, route, **query))) }
            .tap { |thread| thread.report_on_exception = false }
    end
  end

  def await(what, &)
    Patience.await(what, -> { [*NAMES.map { |name| stat(name) }, server.stderr] }, &)
  end

  def stat(name)
    parsed(ask(path(name, "stat")))
  end

  # Of a server started with ADMIN.
  # @return [Hash{String => Integer}] how many are queued, how many run, and so on
  def requests
    status = Wire::Client.open(server.admin_url) do |client|
      client.get("/status.json") && client.response
    end
    JSON.parse(status.body).fetch("requests")
  end
end
