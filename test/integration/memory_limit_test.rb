# frozen_string_literal: true

# A process whose memory is limited (ulimit -v): a request for whose fiber there is no stack is
# refused alone, and a stop drains.

require_relative "../support/server_process_case"

class MemoryLimitTest < ServerProcessCase
  # Kilobytes: enough to start, and for some dozens of fibers.
  LIMIT_KB = 800_000
  AT_ONCE = 400

  class << self
    def app
      "run(->(_env) { sleep(0.1); [200, {}, ['hello']] })\n"
    end

    def server_options
      { wrap: ["sh", "-c", "ulimit -v #{LIMIT_KB}; exec \"$@\"", "sh"] }
    end
  end

  def test_requests_without_memory_for_a_fiber_are_refused_each_and_the_others_answered
    clients = Array.new(AT_ONCE) { Wire::Client.new(server.url).tap { |client| client.get("/") } }
    statuses = clients.map { |client| client.response.status }
    assert_empty statuses.uniq - [200, 503]
    assert_operator statuses.count(200), :>, AT_ONCE / 4
    assert_equal 200, ask("/").status
    refute_match(/raised into the executor's thread/, server.stderr)
  ensure
    clients&.each(&:close)
  end
end
