# frozen_string_literal: true

# The application of databases_mixed_test.rb. Each answer is the database's value for the token of
# its request: GET /LIBRARY/WHAT/TOKEN.

require "json"
require "pg"
require "neverblock"
require "active_record"
require "sequel"
Sequel.extension :neverblock

class DatabasesApp
  POOL = 12
  WAIT_S = 20
  # What goes wrong with a connection, or with waiting for one.
  FAILURES = [PG::Error, ActiveRecord::ActiveRecordError, Sequel::Error,
              NeverBlock::Pool::TimeoutError].freeze
  ROWS = 200
  # A token is compared in SQL as well, so that a row of another's cannot look right.
  SQL = {
    "short" => "select '%<token>s'::text as token",
    "long" => "select '%<token>s'::text as token, pg_sleep(0.05)",
    "overdue" => "select '%<token>s'::text as token, pg_sleep(30)",
    "rows" => "select '%<token>s'::text as token, repeat('x', 500) as filler " \
              "from generate_series(1, #{ROWS})"
  }.freeze
  WRITE = "insert into written (token) values ('%<token>s')"
  SLEEP = "select pg_sleep(0.01)"
  READ = "select token from written where token = '%<token>s'"

  # The pools of NeverBlock itself.
  class Plain
    def initialize(port)
      @pool = NeverBlock::Pool::FiberedConnectionPool.new(size: POOL, timeout: WAIT_S) do
        PG.connect(host: "127.0.0.1", port: port, user: "postgres", dbname: "postgres",
                   application_name: "mixed", sslmode: "disable",
                   options: "-c synchronous_commit=on")
      end
    end

    def ask(*statements, within: false)
      @pool.hold do |connection|
        run = -> { statements.map { |sql| connection.exec(sql).values.map(&:first) }.last }
        within ? connection.transaction { run.call } : run.call
      end
    end

    def rest
      stats = @pool.stats
      { held: stats[:held], waiting: stats[:waiting], most: stats[:size], there: stats[:free] }
    end
  end

  # An untouched ActiveRecord.
  class Records
    def initialize(port)
      ActiveSupport::IsolatedExecutionState.isolation_level = :fiber
      ActiveRecord::Base.establish_connection(adapter: "postgresql", host: "127.0.0.1", port: port,
                                              username: "postgres", database: "postgres",
                                              sslmode: "disable",
                                              pool: POOL, checkout_timeout: WAIT_S,
                                              variables: { application_name: "mixed",
                                                           synchronous_commit: "on" })
    end

    def ask(*statements, within: false)
      ActiveRecord::Base.connection_pool.with_connection do |connection|
        run = -> { statements.map { |sql| connection.select_rows(sql).map(&:first) }.last }
        within ? connection.transaction { run.call } : run.call
      end
    end

    def rest
      stat = ActiveRecord::Base.connection_pool.stat
      { held: stat[:busy] + stat[:dead], waiting: stat[:waiting], most: stat[:size],
        there: stat[:connections] }
    end
  end

  class Sequels
    def initialize(port)
      options = { application_name: "mixed", sslmode: "disable",
                  options: "-c synchronous_commit=on" }
      @database = Sequel.connect("postgres://postgres@127.0.0.1:#{port}/postgres",
                                 max_connections: POOL, pool_timeout: WAIT_S, test: false,
                                 driver_options: options)
      @database.extension(:connection_validator).pool.connection_validation_timeout = -1
    end

    def ask(*statements, within: false)
      run = -> {
        statements.map { |sql|
          if sql.start_with?("insert")
            @database.run(sql)
          else
            @database[sql].select_map(@database[sql].columns.first)
          end
        }.last
      }
      within ? @database.transaction { run.call } : run.call
    end

    def rest
      pool = @database.pool
      { held: 0, waiting: pool.respond_to?(:num_waiting) ? pool.num_waiting : 0,
        most: pool.max_size, there: pool.size }
    end
  end

  LIBRARIES = { "plain" => Plain, "records" => Records, "sequels" => Sequels }.freeze

  # @param port [Integer] of the relay
  def initialize(port)
    @libraries = LIBRARIES.transform_values { |library| library.new(port) }
  end

  def call(env)
    _, name, what, token = env["PATH_INFO"].split("/")
    return answer(200, JSON.generate(@libraries.transform_values(&:rest))) if name == "rest"

    answer(200, found(@libraries.fetch(name), what, token))
  rescue *FAILURES => e
    raise if NeverBlock::Causes.of(e).any?(NeverBlock::Error)

    answer(502, "#{e.class}: #{e.message}")
  end

  private

  def found(library, what, token)
    case what
    when "write"
      library.ask(format(WRITE, token: token), SLEEP, format(READ, token: token), within: true)
    when "limited" then NeverBlock.deadline(0.03) { library.ask(format(SQL["long"], token: token)) }
    when "two"
      NeverBlock.all(*Array.new(2) { -> { library.ask(format(SQL["short"], token: token)) } })
                .flatten
    else library.ask(format(SQL.fetch(what), token: token))
    end.join(" ")
  rescue StandardError => e
    raise unless what == "limited" && NeverBlock::Causes.of(e).any?(NeverBlock::DeadlineExceeded)

    token # ActiveRecord has made an error of its own of it
  end

  def answer(status, text)
    [status, { "content-type" => "text/plain", "content-length" => text.bytesize.to_s }, [text]]
  end
end
