# frozen_string_literal: true

require_relative "../../../support/between"
require_relative "../../../support/timeslices"
require "pg"

# db/pg.rb and db/pg/lent.rb: what becomes of the descriptor that libpq lends to an IO, and of a
# connection whose making is ended.
class PgLentTest < Minitest::Test
  include Between
  include Timeslices

  class Own < StandardError; end

  # What a server says before the first query (AuthenticationOk, ReadyForQuery) and after a query
  # without rows (CommandComplete, ReadyForQuery). PostgreSQL's manual describes them in 55.7.
  WELCOME = ["R", 8, 0, "Z", 5, "I"].pack("a1NNa1Na1")
  DONE = ["C", 13, "SELECT 0", "Z", 5, "I"].pack("a1NZ*a1Na1")

  # Takes connections. What it says, it says when `say` is pushed to.
  class Server
    attr_reader :say, :came

    def initialize
      @server = TCPServer.new("127.0.0.1", 0)
      @say = Thread::Queue.new
      @came = Thread::Queue.new
      @thread = Thread.new { serve(@server.accept) }
    end

    def address
      {
        host: "127.0.0.1", port: @server.addr[1], user: "nobody",
        sslmode: "disable", gssencmode: "disable"
      }
    end

    def close
      @thread.kill.join
      @server.close
    end

    private

    def serve(client)
      @came << client
      while (words = @say.pop)
        client.readpartial(1000)
        client.write(words)
      end
    ensure
      client.close
    end
  end

  def with_server
    server = Server.new
    yield server
  ensure
    server.close
  end

  def test_no_slice_ends_between_an_io_and_word_that_its_descriptor_is_lent
    with_server do |server|
      server.say << WELCOME
      stayed = []
      in_timeslices do
        fiber do
          between(-> { stayed << stays? }) do
            connection = PG.connect(**server.address)
            fiber { server.say << DONE }
            connection.exec("select")
            refute_predicate connection.socket_io, :autoclose?
            connection.close
          end
        end
        fiber { be_preempted }
      end
      assert_equal [true], stayed.uniq
    end
  end

  def test_a_connection_whose_making_is_ended_is_closed_at_once
    with_server do |server|
      in_scheduler do
        connects = fiber { assert_raises(Own) { PG.connect(**server.address) } }
        client = server.came.pop
        connects.raise(Own)
        sleep(0) while connects.alive?
        assert_raises(EOFError, Errno::ECONNRESET) { loop { client.readpartial(1000) } }
      end
    end
  end
end
