# frozen_string_literal: true

# Habits of applications that Puma serves and Rack's SPEC does not ask for. The log, the figures and
# rack.response_finished tell what the client got.

require_relative "../support/server_process_case"

class RackHabitsTest < ServerProcessCase
  # More than is kept in memory.
  LARGE = 240_000
  # What an application does wrong: its client gets 500.
  FAULTS = {
    "newline" => %q([200, { "x-a" => "1\n2" }, ["x"]]),
    "nil_body" => "[200, {}, nil]",
    "string_body" => '[200, {}, "x"]',
    "upgrade" => '[101, {}, ["x"]]',
    "hints" => '[103, {}, ["x"]]',
    "raise" => 'raise "on purpose"'
  }.freeze

  class << self
    def app
      faults = FAULTS.map { |name, code| "#{name.inspect} => ->(_env) { #{code} }" }
      <<~RACKUP
        require "json"
        require "#{File.expand_path("app_events", "#{__dir__}/../support")}"
        FAULTS = { #{faults.join(", ")} }
        INPUT = lambda do |env|
          input = env["rack.input"]
          again = File.open(input.path, "rb", &:read)
          found = [
            input.size, File.size(input.path), File.size(input), again == input.read,
            Integer(`wc -c < \#{input.path}`), input.lstat.size
          ]
          [200, {}, [JSON.generate(found)]]
        end
        AFTER = lambda do |env|
          tag = env["QUERY_STRING"]
          env["rack.response_finished"] << ->(*) { AppEvents.put("finished", tag) }
          after = env["rack.after_reply"]
          after << -> { AppEvents.put("first", tag) } << -> { raise "on purpose" }
          after << -> { AppEvents.put("second", tag) }
          [200, {}, Enumerator.new { |body| body << "x"; AppEvents.put("body", tag) }]
        end
        MOUNTED = ->(env) { [200, {}, [env.values_at("REQUEST_PATH", "PATH_INFO").join(" ")]] }
        run(lambda do |env|
          tag = env["QUERY_STRING"]
          tell = ->(_env, status, *) { AppEvents.put("status", tag, status: status) }
          env["rack.response_finished"] << tell
          case name = env["PATH_INFO"].delete_prefix("/")
          when "input" then INPUT.call(env)
          when "after" then AFTER.call(env)
          when %r{\\Amounted/} then Rack::URLMap.new("/mounted" => MOUNTED).call(env)
          when "text" then ["201", {}, ["x"]]
          when "elements" then [200, {}, [nil, "x", 1, :"é"]]
          when "numbers" then [200, {}, [1]]
          when "cookies" then [200, { "set-cookie" => "a=1\\nb=2" }, ["x"]]
          when "chunks"
            parts = ["3\\r\\nabc\\r\\n2\\r\\n", "de\\r\\n0\\r\\n\\r\\n"]
            [200, { "transfer-encoding" => "chunked" }, parts]
          when "unframed" then [200, { "transfer-encoding" => "chunked" }, ["abc", "de"]]
          when "mixed" then [200, { "transfer-encoding" => "chunked" }, [[252].pack("U"), [255].pack("C")]]
          else FAULTS.fetch(name).call(env)
          end
        end)
      RACKUP
    end

    def server_options
      { options: ["--log-requests"] }
    end
  end

  def test_a_large_body_has_a_path_that_can_be_opened_and_handed_to_a_program
    found = parsed(ask("/input", method: "POST", body: "x" * LARGE))
    assert_equal [LARGE, LARGE, LARGE, true, LARGE, LARGE], found
  end

  def test_after_reply_is_called_after_the_response_each_whatever_the_others_do
    tag = new_tag
    assert_equal "x", ask("/after?#{tag}").body
    events.await("second", tag)
    assert_equal %w[body finished status first second],
                 events.of(tag).map { |event| event["event"] }
  end

  FAULTS.each_key do |name|
    define_method("test_a_fault_is_told_as_the_500_its_client_got_#{name}") do
      assert_told(name, 500)
    end
  end

  def test_a_status_given_as_text_is_told_as_a_number
    assert_told("text", 201)
  end

  def test_what_is_no_string_in_an_array_is_sent_as_each_would_send_it
    response = ask("/elements")
    assert_equal ["x1é".b, "4"], [response.body.b, response["content-length"]]
    assert_equal "1", ask("/numbers").body
  end

  def test_cookies_joined_by_newlines_become_lines
    assert_equal %w[a=1 b=2], ask("/cookies").all("set-cookie")
  end

  def test_the_request_path_is_whole_where_an_application_is_mounted # Puma's REQUEST_PATH
    assert_equal "/mounted/a%20b /a%20b", ask("/mounted/a%20b?c=d").body
  end

  def test_a_body_with_chunks_of_its_own_is_delivered_without_them
    response = ask("/chunks")
    assert_equal ["abcde", "5"], [response.body, response["content-length"]]
    assert_equal "abcde", ask("/unframed").body, "the field alone makes no chunks"
    assert_equal "\u00fc\xff".b, ask("/mixed").body.b, "of any encodings"
  end

  private

  def assert_told(name, status)
    tag = new_tag
    assert_equal status, ask("/#{name}?#{tag}").status
    assert_equal [status], events.await("status", tag).map { |event| event["status"] }
    server.await_stderr(/GET \S*#{tag}#{Over.logged} \d/)
    assert_includes server.stderr, "#{tag}#{Over.logged} #{status} "
  end
end
