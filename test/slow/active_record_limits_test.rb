# frozen_string_literal: true

require_relative "../support/timeslices"
require_relative "../support/services"
require "active_record"
require "neverblock"
require "pg"
require "timeout"

# Fibers whose limits end them wherever they are, in what ActiveRecord's pool notes and in the
# driver, beside two that compute. Afterwards the pool has all its places, and no descriptor was
# closed that was another's.
class ActiveRecordLimitsTest < Minitest::Test
  include Timeslices

  SECONDS_OF_LOAD = Float(ENV.fetch("NB_LIMITS_SECONDS", 15))
  FIBERS = 24
  SIZE = 4
  # Shorter than a connection takes to be made on a busy machine, up to about as long as it takes
  # with a query.
  LIMIT_S = (0.001..0.02)

  class Record < ActiveRecord::Base
    self.abstract_class = true
  end

  class Over < StandardError; end

  LIMITS = {
    timeout: ->(seconds, work) { Timeout.timeout(seconds) { work.call } },
    timeout_by_class: ->(seconds, work) { Timeout.timeout(seconds, Over) { work.call } },
    deadline: ->(seconds, work) { NB.deadline(seconds, &work) }
  }.freeze

  QUERY = "SELECT 1 FROM pg_sleep(0.0005)"

  WORK = {
    query: ->(_) { Record.with_connection { |connection| connection.select_value(QUERY) } },
    lease: ->(_) { Record.lease_connection.select_value(QUERY) },
    transaction: ->(_) { Record.transaction { Record.lease_connection.select_value(QUERY) } },
    checkout: lambda do |pool|
      connection = pool.checkout
      begin
        connection.select_value(QUERY)
      ensure
        pool.checkin(connection)
      end
    end,
    connect: ->(_) { Record.with_connection(&:disconnect!) },
    remove: ->(_) { Record.with_connection(&:throw_away!) },
    flush: ->(pool) { pool.flush(-1) }
  }.freeze

  # What may be seen: the limit's own, or what ActiveRecord has made of it.
  SEEN = [
    Timeout::Error, Over, NB::DeadlineExceeded,
    ActiveRecord::StatementInvalid, ActiveRecord::ConnectionNotEstablished
  ].freeze

  LIMITS.each do |name, limit|
    define_method("test_a_pool_has_all_its_places_whatever_was_ended_by_#{name}") do
      in_scheduler(SECONDS_OF_LOAD + SECONDS) do
        Fiber.scheduler.slice_ms = 1
        Record.establish_connection(
          adapter: "neverblock_postgresql", host: "127.0.0.1", port: Services.postgresql.port,
          username: "postgres", database: "postgres",
          pool: SIZE, reaping_frequency: nil, idle_timeout: 0
        )
        pool = Record.connection_pool
        works = under_load(pool, limit)
        fiber do
          sleep(0.01) while works.any?(&:alive?)
          assert_whole(pool)
          Record.remove_connection
        end
      end
    end
  end

  private

  def under_load(pool, limit)
    over = now + SECONDS_OF_LOAD
    computes = Array.new(2) { fiber { compute(0.002) && sleep(0.0005) while now < over } }
    computes + Array.new(FIBERS) { fiber { ended(pool, limit) while now < over } }
  end

  def ended(pool, limit)
    limit.call(rand(LIMIT_S), -> { WORK.values.sample(3).each { |work| work.call(pool) } })
  rescue *SEEN
    nil
  ensure
    pool.release_connection # as at a request's end
  end

  def assert_whole(pool)
    assert_equal({ busy: 0, dead: 0, waiting: 0 }, pool.stat.slice(:busy, :dead, :waiting))
    taken = Array.new(SIZE) { pool.checkout }
    assert_equal [1] * SIZE, (taken.map { |connection| connection.select_value("SELECT 1") })
    assert(taken.none?(&:transaction_open?))
    taken.each { |connection| pool.checkin(connection) }
  end

  def now
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end

  def compute(seconds)
    over = now + seconds
    nil while now < over
    true
  end
end
