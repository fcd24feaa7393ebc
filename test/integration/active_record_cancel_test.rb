# frozen_string_literal: true

require "active_record"
require "support/held_relay"
require "support/patience"
require "support/scheduler_harness"
require "support/services"
require "neverblock"

# A PostgreSQL server stops answering while a query is under way. Whoever gives the connection back
# waits for the cancel request, at most for its limit, also in a shield; and what ends him meanwhile
# is raised when the pool has the place again.
class ActiveRecordCancelTest < Minitest::Test
  include SchedulerHarness

  class Own < StandardError; end

  class Record < ActiveRecord::Base
    self.abstract_class = true
  end

  {
    "given_back" => ->(pool, connection) { pool.checkin(connection) },
    "released" => ->(pool, _) { pool.release_connection },
    "disconnected" => ->(pool, _) { pool.disconnect! }
  }.each do |name, give_back|
    define_method("test_the_place_of_a_connection_that_is_#{name}_is_free_again") do
      with_pool do |pool|
        ended = fiber do
          connection = name == "released" ? lease(pool) : pool.checkout
          connection.execute("select 1")
          connection.raw_connection.send_query("select pg_sleep(600)")
          @held << @relay.hold(from: :client)
          assert_raises(Own) { give_back.call(pool, connection).then { sleep } }
        end
        @held.pop.pop
        ended.raise(Own)
        sleep(0.001) while ended.alive?
        @relay.let_go

        assert_equal 0, pool.stat.fetch(:busy)
        assert_equal [[1]], pool.with_connection { |connection| connection.query("select 1") }
      end
    end
  end

  private

  def with_pool
    Services.postgresql
    @relay = HeldRelay.new(Services.postgresql.port)
    @held = Thread::Queue.new
    in_scheduler do
      fiber do
        Record.establish_connection(
          adapter: "postgresql", host: "127.0.0.1", port: @relay.port, username: "postgres",
          database: "postgres", sslmode: "disable", gssencmode: "disable",
          pool: 1, checkout_timeout: 0.1, reaping_frequency: nil
        )
        yield Record.connection_pool
      ensure
        Record.remove_connection
      end
    end
  ensure
    @relay.close
  end

  def lease(pool)
    pool.respond_to?(:lease_connection) ? pool.lease_connection : pool.connection
  end
end
