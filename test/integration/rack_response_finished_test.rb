# frozen_string_literal: true

# rack.response_finished (Rack 3.1 SPEC): each callable once, in reverse order, in the fiber of the
# request, with env, status, headers and error.

require_relative "../support/server_process_case"

class RackResponseFinishedTest < ServerProcessCase
  def finished(tag)
    events.await("finished", tag, count: 2)
    ask("/")
    told = events.all("finished", tag)
    assert_equal [1, 0], told.map { |event| event["order"] }, "each once, the last registered first"
    assert(told.all? { |event| event["same_fiber"] },
           "called in another fiber than the application")
    assert_equal ["/finished"], told.map { |event| event["path"] }.uniq
    told.last
  end

  def test_after_a_response_the_callables_get_status_and_headers_and_no_error
    tag = new_tag
    assert_equal "ab", ask("/finished?tag=#{tag}").body
    assert_equal [200, "1", nil], finished(tag).values_at("status", "told", "error")
  end

  def test_they_come_after_the_body_was_closed
    tag = new_tag
    ask("/finished?tag=#{tag}")
    finished(tag)
    lines = File.readlines(self.class.instance_variable_get(:@events_path))
    seen = lines.map { |line| JSON.parse(line) }.select { |event| event["tag"] == tag }
    names = seen.map { |event| event["event"] }
    assert_operator names.index("close"), :<, names.index("finished")
  end

  def test_after_an_exception_they_get_the_error
    tag = new_tag
    assert_equal 500, ask("/finished?how=raise&tag=#{tag}").status
    assert_equal "RuntimeError: finished #{tag}", finished(tag)["error"]
  end

  def test_after_a_body_that_raised_they_get_the_error
    tag = new_tag
    ask("/finished?how=each_raises&tag=#{tag}", tolerate_cut: true)
    assert_equal "RuntimeError: each of #{tag} failed", finished(tag)["error"]
  end

  def test_after_a_client_left_they_are_called_too
    tag = new_tag
    connect do |client|
      client.get("/finished?how=endless&tag=#{tag}")
      client.take_line
      client.abort
    end
    refute_nil finished(tag)["error"], "an error says that the response was not sent"
  end

  def test_a_callable_that_raises_is_logged_and_stops_no_other
    tag = new_tag
    assert_equal "ab", ask("/finished?how=callable_raises&tag=#{tag}").body
    finished(tag)
    assert_equal 1, logged("callable of #{tag} failed")
  end
end
