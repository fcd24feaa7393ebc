# frozen_string_literal: true

require_relative "../../support/scheduler_harness"
require_relative "../../support/plain_http"
require "neverblock"
require "net/http"

# A kept connection of Net::HTTP whose request was left half way: the next request is given its own
# answer. A POST, which Net::HTTP does not send again.
class CompatNetHTTPTest < Minitest::Test
  include SchedulerHarness

  LIMIT_S = 0.05
  # The service's answer to /half comes in two parts, the second when it is told.
  LEFT = {
    "timeout" => ->(http) { Timeout.timeout(LIMIT_S) { http.get("/half") } },
    "timeout_in_the_reader" => ->(http) {
      Timeout.timeout(LIMIT_S) do
        http.request_get("/half") { |response| response.read_body { sleep } }
      end
    },
    "throw" => ->(http) { catch(:left) { http.request_get("/half") { throw :left } } },
    "break" => ->(http) { http.request_get("/half") { break } },
    "an_exception_that_is_no_error" => ->(http) {
      http.request_get("/half") { raise NotImplementedError }
    }
  }.freeze
  IN_A_LOOP = {
    "nb_all" => ->(http) {
      NB.all(-> { http.get("/half") }, -> { sleep(LIMIT_S) && raise(KeyError) })
    },
    "nb_all_in_the_reader" => ->(http) {
      NB.all(
        -> { http.request_get("/half") { |response| response.read_body { sleep } } },
        -> { sleep(LIMIT_S) && raise(KeyError) }
      )
    },
    "nb_deadline" => ->(http) { NB.deadline(LIMIT_S) { http.get("/half") } },
    "nb_deadline_in_the_reader" => ->(http) {
      NB.deadline(LIMIT_S) do
        http.request_get("/half") { |response| response.read_body { sleep } }
      end
    }
  }.freeze

  def setup
    NeverBlock::Compat::NetHTTP.apply
    @listener = TCPServer.new("127.0.0.1", 0)
    @second_half = Queue.new
    @service = Thread.new { loop { Thread.new(@listener.accept) { |socket| converse(socket) } } }
  end

  def teardown
    @service.kill.join
    @listener.close
  end

  LEFT.each do |name, leave|
    define_method("test_after_#{name}_on_a_thread_the_next_answer_is_its_own") do
      Thread.new { assert_next_is_own(leave) }.value
    end
  end

  LEFT.merge(IN_A_LOOP).each do |name, leave|
    define_method("test_after_#{name}_in_a_loop_the_next_answer_is_its_own") do
      in_scheduler { fiber { assert_next_is_own(leave) } }
    end
  end

  def test_a_connection_whose_requests_end_is_kept
    in_scheduler do
      fiber do
        connections = with_http do |http|
          Array.new(3) { |index| http.get("/#{index}")["x-connection"] }
        end
        assert_equal 1, connections.uniq.size
      end
    end
  end

  private

  def assert_next_is_own(leave)
    with_http do |http|
      assert_equal "/first", http.get("/first").body
      begin
        leave.call(http)
      rescue Exception => e # rubocop:disable Lint/RescueException -- however it was left
        expected = [Timeout::Error, KeyError, NB::DeadlineExceeded, NotImplementedError]
        assert_includes expected, e.class
      end
      @second_half << true
      2.times { |index| assert_equal "/own#{index}", http.post("/own#{index}", "x").body }
    end
  end

  def with_http(&block)
    Net::HTTP.start("127.0.0.1", @listener.addr[1], max_retries: 0, read_timeout: SECONDS, &block)
  end

  def converse(socket)
    while (_, path, headers = PlainHttp.head(socket))
      socket.read(headers["content-length"].to_i)
      socket.write(
        "HTTP/1.1 200 OK\r\ncontent-length: #{path.bytesize}\r\n" \
        "x-connection: #{socket.peeraddr[1]}\r\n\r\n#{path[0, 2]}"
      )
      @second_half.pop if path == "/half"
      socket.write(path[2..])
    end
  rescue SystemCallError
    nil # it was closed
  end
end
