# frozen_string_literal: true

require_relative "binding_case"

# Tests the field Server-Timing of responses: who gets it, what it tells, and that it does not get
# in the way of what the application has written.
class ServerTimingTest < BindingCase
  SECRET = "0123456789abcdef"

  APP = lambda do |env|
    case env["PATH_INFO"]
    when "/sleeps" then 2.times { sleep(0.01) }
    when "/starts" then NB.all(*Array.new(2) {
      -> {
        compute(0.02) && sleep(0.01)
      }
    }) && compute(0.01)
    when "/own" then next [200, { "server-timing" => "app;dur=1" }, ["fine"]]
    when "/each" then next [200, {}, Enumerator.new { |parts| sleep(0.01) && parts << "fine" }]
    when "/call" then next [200, {}, ->(stream) {
      sleep(0.01) && stream.write("fine") && stream.close
    }]
    when "/large" then next [200, {}, ["x" * 200_000]]
    when "/file" then next [200, {}, File.open(__FILE__)]
    when "/fails" then raise "broken"
    when "/wide" then next [200, { "x-wide" => "w" * 64_000 }, ["fine"]]
    end
    [200, PLAIN, ["fine"]]
  end

  def self.compute(seconds)
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) - began < seconds
    true
  end

  # name => [duration or nil, description or nil]
  def timing(response, line = -1)
    response.fields.select { |name, _|
      name.casecmp?("server-timing")
    }[line].last.split(", ").to_h do |entry|
      name, *rest = entry.split(";")
      values = rest.to_h { |part| part.split("=", 2) }
      [name, [values["dur"]&.to_f, values["desc"]&.delete('"')]]
    end
  end

  def timed?(response)
    response.fields.any? { |name, _| name.casecmp?("server-timing") }
  end

  def test_no_response_has_it_unless_it_is_set
    serve(APP)
    refute timed?(ask("/sleeps", "X-Server-Timing: true"))
  end

  def test_every_response_of_the_application_says_where_its_time_went
    serve(APP, server_timing: true)
    time = timing(ask("/sleeps"))
    assert_equal %w[head queue run ran wait-sleep allocations], time.keys - %w[wait-turn gc]
    assert_operator time["wait-sleep"].first, :>=, 20
    assert_equal "2 waits", time["wait-sleep"].last
    assert_operator time["wait-sleep"].first, :<=, time["run"].first
    assert_operator time["ran"].first, :<=, time["run"].first
    assert_operator time["allocations"].last.to_i, :>, 0
  end

  def test_what_fibers_run_counts_once
    serve(APP, server_timing: true)
    time = timing(ask("/starts"))
    assert_operator time["ran"].first, :>=, 20
    assert_operator time["ran"].first, :<=, time["run"].first
  end

  def test_bodies_of_every_kind_come_whole_behind_it
    serve(APP, server_timing: true)
    ["/", "/each", "/call", "/wide"].each do |path|
      response = ask(path)
      assert_equal ["fine", true], [response.body, timed?(response)], path
    end
    { "/large" => "x" * 200_000, "/file" => File.read(__FILE__) }.each do |path, body|
      response = ask(path)
      assert_equal [body, true], [response.body, timed?(response)], path
    end
  end

  # The head of a body with `each` leaves with its first bytes.
  def test_what_is_known_when_the_head_leaves_is_told
    serve(APP, server_timing: true)
    assert_operator timing(ask("/each"))["wait-sleep"].first, :>=, 10
    refute_includes timing(ask("/call")), "wait-sleep"
  end

  def test_a_field_of_the_application_stays_and_comes_first
    serve(APP, server_timing: true)
    response = ask("/own")
    assert_equal "app;dur=1", response.fields.find { |name, _| name.casecmp?("server-timing") }.last
    assert_includes timing(response), "run"
  end

  def test_what_the_server_answers_itself_does_not_have_it
    serve(APP, server_timing: true)
    response = ask("/fails")
    assert_equal [500, false], [response.status, timed?(response)]
  end

  # --- asked for ---

  def test_a_request_that_brings_the_secret_gets_it
    serve(APP, server_timing: SECRET)
    assert_includes timing(ask("/sleeps", "X-Server-Timing: #{SECRET}")), "wait-sleep"
  end

  ["", "true", "0123456789abcde", "0123456789abcdeg", "0123456789abcdef0",
   "0123456789ABCDEF"].each do |wrong|
    define_method("test_a_request_that_brings_#{wrong.inspect}_does_not") do
      serve(APP, server_timing: SECRET)
      response = ask("/", "X-Server-Timing: #{wrong}")
      assert_equal ["fine", false], [response.body, timed?(response)]
      refute timed?(ask("/"))
    end
  end

  def test_a_secret_that_comes_twice_is_another_value
    serve(APP, server_timing: SECRET)
    refute timed?(ask("/", "X-Server-Timing: #{SECRET}", "X-Server-Timing: #{SECRET}"))
  end

  def test_the_next_request_of_a_connection_has_to_ask_again
    serve(APP, server_timing: SECRET)
    client do |wire|
      wire.get("/", "X-Server-Timing: #{SECRET}")
      assert timed?(wire.response)
      wire.get("/")
      refute timed?(wire.response)
    end
  end
end
