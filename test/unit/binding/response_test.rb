# frozen_string_literal: true

require_relative "binding_case"

# Tests what applications return, and what they do inside the calls that the server makes. An error
# costs that request only, and nothing reaches another one.
class ResponseTest < BindingCase
  Answer = Struct.new(:answer) { def to_s = answer.respond_to?(:call) ? answer.call : answer }
  Iterating = Struct.new(:block) { def each(&) = block.call(&) }

  class Converting
    def initialize(array) = @array = array
    def to_ary = @array.respond_to?(:call) ? @array.call : @array
    def each = yield("by each")
  end

  def self.endless_array = [].tap { |array| array << array }

  # A body whose to_path runs the block.
  def self.body_at(&path)
    Iterating.new(nil).tap { |body| body.define_singleton_method(:to_path, &path) }
  end

  # Each must be a 500 with a log entry, and the server as it was.
  REFUSED = {
    "nil" => -> {},
    "two elements" => -> { [200, {}] },
    "a to_ary that raises" => -> { Converting.new(-> { raise "no" }) },
    "a to_ary that returns something else" => -> { Converting.new(7) },
    "a status that is nil" => -> { [nil, {}, []] },
    "a status that is huge" => -> { [1 << 80, {}, []] },
    "a status that is no number" => -> { [Object.new, {}, []] },
    "a status of 100" => -> { [100, {}, []] },
    "a status of 600" => -> { [600, {}, []] },
    "a status that is negative" => -> { [-200, {}, []] },
    "headers that are nil" => -> { [200, nil, []] },
    "headers that are strings" => -> { [200, ["x-a: b"], []] },
    "headers that yield nothing each" => -> { [200, Iterating.new(->(&block) { block.call }), []] },
    "headers that yield one" => -> { [200, [["x-a"]], []] },
    "headers that yield numbers" => -> { [200, [1, 2], []] },
    "headers whose each raises" => -> { [200, Iterating.new(->(&_) { raise "no" }), []] },
    "headers that are basic" => -> { [200, BasicObject.new, []] },
    "a value whose to_s raises" => -> { [200, { "x-a" => Answer.new(-> { raise "no" }) }, []] },
    "a value that is basic" => -> { [200, { "x-a" => BasicObject.new }, []] },
    "a value in an array in an array" => -> { [200, { "x-a" => [["b"]] }, []] },
    "an array that holds itself" => -> { [200, { "x-a" => ResponseTest.endless_array }, []] },
    "a value of two lines" => -> { [200, { "x-a" => "b\r\nx-c: d" }, []] },
    "a value in UTF-16" => -> { [200, { "x-a" => "b".encode("UTF-16LE") }, []] },
    "a name of two lines" => -> { [200, { "x-a\r\nx-b" => "c" }, []] },
    "an empty name" => -> { [200, { "" => "c" }, []] },
    "a name that becomes two lines while its value is made" => lambda {
      name = +"x-a"
      [200, [[name, Answer.new(-> { name.replace("x-a: b\r\nx-c") && "\r\n" })]], []]
    },
    "fields of 300 KB" => -> { [200, { "x-a" => "b" * 300_000 }, []] },
    "fields of 300 KB in pieces" => -> { [200, Array.new(3000) { |n| ["x-#{n}", "b" * 100] }, []] },
    "a length of 19 digits" => -> { [200, { "content-length" => "9" * 19 }, []] },
    "a length of 18 digits" => -> { [200, { "content-length" => "9" * 18 }, ["short"]] },
    "a length that is negative" => -> { [200, { "content-length" => "-1" }, []] },
    "a length that is empty" => -> { [200, { "content-length" => "" }, []] },
    "a length in other digits" => -> { [200, { "content-length" => "٣" }, []] },
    "a body that is nil" => -> { [200, {}, nil] },
    "a body that is a string" => -> { [200, {}, "text"] },
    "a body that is basic" => -> { [200, {}, BasicObject.new] },
    "a body whose each raises at once" => -> { [200, {}, Iterating.new(->(&_) { raise "no" })] },
    "a body whose to_ary raises" => -> { [200, {}, Converting.new(-> { raise "no" })] },
    "a body whose to_ary is no array" => -> { [200, {}, Converting.new(7)] },
    "a body whose to_path raises" => -> { [200, {}, ResponseTest.body_at { raise "no" }] },
    "a body whose to_path is a number" => -> { [200, {}, ResponseTest.body_at { 7 }] },
    "a body whose to_path has a NUL" => -> { [200, {}, ResponseTest.body_at { "/\0" }] },
    "a file shorter than announced" => -> {
      [200, { "content-length" => "999999999999" }, File.open(__FILE__)]
    },
    "exit" => -> { exit },
    "exit!'s gentle brother" => -> { abort },
    "a throw" => -> { throw :away },
    "Fiber.yield" => -> { Fiber.yield },
    "a break from a proc" => -> { proc { break }.call },
    "no memory" => -> { raise NoMemoryError },
    "a signal" => -> { raise SignalException, "INT" },
    "a recursion" => -> { ResponseTest.new("x").then { |test| test.send(:recurse) } }
  }.freeze

  def test_each_response_that_is_none_is_a_500_and_one_entry
    serve { |env| (REFUSED[name_in(env)] || -> { [200, {}, ["fine"]] }).call }
    REFUSED.each_key do |name|
      assert_equal 500, ask("/#{URI.encode_www_form_component(name)}").status, name
      assert_equal 500, ask("/#{URI.encode_www_form_component(name)}").status, name
    end
    assert_serves
    entry = /^neverblock: \S+ error: GET \S+ \(\h+\) failed: /
    assert_equal 2 * REFUSED.size, logged.scan(entry).size
    assert_equal 0, executor_running
  end

  ACCEPTED = {
    "a status that is a string" => [-> { ["200", {}, ["ok"]] }, "ok"],
    "an array subclass" => [-> { Class.new(Array).new([200, {}, ["ok"]]) }, "ok"],
    "pairs for headers" => [-> { [200, [%w[x-a b], %w[x-a c]], ["ok"]] }, "ok"],
    "headers that yield two" => [-> {
      [200, Iterating.new(->(&block) { block.call("x-a", "b") }), ["ok"]]
    }, "ok"],
    "a value that parks" => [-> {
      [200, { "x-a" => Answer.new(-> { sleep(0.001) && "b" }), "x-c" => "d" }, ["ok"]]
    }, "ok"],
    "a body that parks" => [-> {
      [200, {}, Iterating.new(->(&block) { block.call("o") || sleep(0.001) && block.call("k") })]
    }, "ok"],
    "a body that parks under the scratch of others" => [-> {
      body = Iterating.new(->(&block) { sleep(0.001) && block.call("ok") })
      [200, { "x-a" => "b" * 2000 }, body]
    }, "ok"],
    "a to_ary that is nil" => [-> { [200, {}, Converting.new(nil)] }, "by each"],
    "a to_path that is nil" => [-> {
      body = Converting.new(nil)
      body.define_singleton_method(:to_path) { nil }
      [200, {}, body]
    }, "by each"],
    "a chunk that changes after it was given" => [lambda {
      [200, {}, Iterating.new(lambda do |&block|
        (chunk = +"ok") && block.call(chunk) || chunk.replace("xx" * 9)
      end)]
    }, "ok"],
    "chunks that are no strings" => [-> {
      [200, {}, Iterating.new(->(&block) { [:o, nil, Answer.new("k")].each(&block) })]
    }, "ok"],
    "a body written by another fiber" => [-> {
      [200, {}, Iterating.new(lambda do |&block|
        Fiber.new { block.call("o") || sleep(0.001) || block.call("k") }.resume
      end)]
    }, "o"],
    "nothing at all" => [-> { [200, {}, Iterating.new(->(&_) {})] }, ""],
    "a hundred small fields" => [-> {
      [200, Array.new(100) { |n| ["x-#{n}", "b" * 900] }.to_h, ["ok"]]
    }, "ok"]
  }.freeze

  def test_odd_responses_that_are_right_arrive_whole
    serve { |env| (ACCEPTED[name_in(env)]&.first || -> { [200, {}, ["fine"]] }).call }
    3.times do
      wires = ACCEPTED.keys.shuffle.map do |name|
        [name, client.tap { |wire| wire.get("/#{URI.encode_www_form_component(name)}") }]
      end
      wires.each do |name, wire|
        response = wire.response
        expected = ACCEPTED[name].last
        body = response.body.byteslice(0, expected.bytesize)
        assert_equal [200, expected], [response.status, body], name
      end
    end
    assert_serves
  end

  # Rack's SPEC: they must not be sent back to the client.
  def test_fields_for_servers_that_this_one_does_not_know_are_left_out_and_told_once
    fields = { "rack.response_test" => Object.new, "rack." => nil, "x-a" => "b" }
    serve { |env| [200, name_in(env) == "pairs" ? fields.to_a : fields, ["ok"]] }
    %w[hash pairs].each do |kind|
      response = client.tap { |wire| wire.get("/#{kind}") }.response
      assert_equal [200, "ok"], [response.status, response.body]
      assert_equal %w[content-length date x-a],
                   response.fields.map { |name, _| name.downcase }.sort
    end
    assert_equal 1, logged.scan(/warning: GET \S+ \(\h+\): .* field "rack.response_test" is/).size
  end

  # As Puma sends it. Campfire sets X-Rev to nil.
  def test_a_field_whose_value_is_nil_is_sent_empty_unless_it_is_the_servers
    own = %w[Content-Length Transfer-Encoding Connection Date Upgrade X-Download-Id X-Sendfile]
    headers = { "x-rev" => nil, "x-list" => [nil], **own.to_h { |name| [name, nil] } }
    serve { [200, headers, ["ok"]] }
    2.times do
      response = client.tap { |wire| wire.get("/") }.response
      assert_equal [200, "ok"], [response.status, response.body]
      names = response.fields.map { |name, _| name.downcase }
      assert_equal %w[content-length date x-rev], names.sort
      assert_equal ["", "2"], [response["x-rev"], response["content-length"]]
    end
  end

  # --- the block of each ---

  def test_a_block_called_when_its_response_is_over_raises_and_reaches_nobody
    kept = []
    serve do |env|
      next [200, {}, ["fine"]] if env["PATH_INFO"] == "/fine"

      calls = kept.map do |block|
        block.call("x-late", "stray") && "wrote"
      rescue StandardError => e
        e.message
      end
      GC.start
      kept.clear
      keeping = Iterating.new(->(&block) { kept << block && block.call("x-a", "b") })
      [200, keeping, Iterating.new(->(&block) { kept << block && block.call(calls.join("|")) })]
    end
    assert_equal "", ask.body
    over = "the response this block belongs to is over"
    3.times { assert_equal "#{over}|#{over}", ask.body }
    Thread.new { assert_raises(NeverBlock::Error) { kept.last.call("stray") } }.join
    assert_serves
  end

  def test_a_headers_block_called_while_the_body_is_written
    serve do |_env|
      block = nil
      headers = Iterating.new(->(&given) { block = given })
      late = lambda do
        block.call("x-a", "b")
      rescue StandardError => e
        e.message
      end
      [200, headers, Iterating.new(->(&out) { out.call(late.call) })]
    end
    assert_match(/is over/, ask.body)
  end

  def test_a_response_is_written_on_its_own_thread
    serve do |_env|
      [200, {}, Iterating.new(lambda do |&block|
        block.call("a")
        Thread.new do
          Thread.current.report_on_exception = false
          block.call("b")
        end.join
      end)]
    end
    response = client { |wire| wire.get("/") && wire.response_as_far_as_it_comes }
    assert_predicate response, :cut?
    assert_equal "a", response.body
    assert_match(/on the thread its request runs on/, logged)
  end

  LARGE = ("x" * 65_536).freeze

  def test_a_response_is_written_by_one_fiber_at_a_time
    refused = 0
    serve(fibers: 50) do |env|
      next [200, {}, ["fine"]] if env["PATH_INFO"] == "/fine"

      [200, {}, Iterating.new(lambda do |&block|
        writers = Array.new(3) do
          Fiber.schedule do
            40.times { block.call(LARGE) }
          rescue NeverBlock::Error
            refused += 1
          end
        end
        sleep(0.001) while writers.any?(&:alive?)
      end)]
    end
    wires = Array.new(6) { client(receive_buffer_bytes: 4096).tap { |wire| wire.get("/") } }
    wires.each { |wire| wire.response_as_far_as_it_comes(method: "GET") }
    assert_operator refused, :>, 0
    assert_serves
  end

  # A write that did not come to its end leaves a hole; an end that looks clean would hide it.
  def test_an_interrupted_write_that_the_application_overlooks_cuts_the_response
    serve do |env|
      next [200, {}, ["fine"]] if env["PATH_INFO"] == "/fine"

      [200, {}, Iterating.new(lambda do |&block|
        200.times { Fiber.scheduler.timeout_after(0.02, IOError) { block.call(LARGE) } }
      rescue IOError
        nil
      end)]
    end
    client(receive_buffer_bytes: 4096) do |wire|
      wire.get("/")
      within { sleep(0.002) until logged.include?("interrupted while it wrote") }
      assert_predicate wire.response_as_far_as_it_comes, :cut?
    end
    assert_serves
  end

  # --- close, and what the request owns ---

  def test_an_array_with_a_close_of_its_own_is_closed
    closed = Queue.new
    serve do |_env|
      body = ["fine"]
      body.define_singleton_method(:close) { closed << true }
      [200, {}, body]
    end
    assert_serves
    assert_serves
    2.times { within { closed.pop } }
    assert_serves
    within { closed.pop }
    assert_empty closed
  end

  def test_descriptors_are_given_back_whatever_happens
    file = Tempfile.new("body").tap { |made| made.write("x" * 200_000) && made.flush }
    body = Class.new(Iterating) { define_method(:to_path) { file.path } }.new(nil)
    serve do |env|
      kept = env["rack.input"]
      case env["PATH_INFO"]
      when "/replaced" then env["rack.input"] = StringIO.new("other")
      when "/taken" then env.delete("rack.input")
      when "/raised" then raise "no"
      when "/short" then next [200, { "content-length" => "300000" }, body]
      when "/file" then next [200, {}, body]
      end
      [200, {}, [kept.read(4).to_s]]
    end
    GC.disable
    paths = %w[/replaced /taken /raised /short /file /plain]
    exchange = lambda do |path|
      client do |wire|
        wire.write("POST #{path} HTTP/1.1\r\nHost: test\r\nContent-Length: 100000\r\n\r\n" \
                   "#{"y" * 100_000}")
        wire.response(method: "POST")
      end
    end
    paths.each(&exchange)
    before = Dir.children("/proc/self/fd").size
    5.times { paths.each(&exchange) }
    # The server learns some time later that a client has left.
    within { sleep(0.001) until Dir.children("/proc/self/fd").size <= before }
  ensure
    GC.enable
    file&.close!
  end

  def test_response_finished_callbacks_that_do_what_they_should_not
    order = Queue.new
    serve do |env|
      finished = env["rack.response_finished"]
      finished << ->(*) { order << :first }
      finished << ->(*) { order << :second && finished.clear }
      finished << :no_callable
      finished << ->(*) { throw :away }
      finished << ->(*) { exit }
      finished << ->(*) { sleep(0.001) && order << :parked }
      [200, {}, ["fine"]]
    end
    assert_serves
    assert_equal %i[parked second], Array.new(2) { within { order.pop } }
    assert_serves
    assert_equal 0, executor_running
  end

  def test_an_env_that_was_spoilt
    spoil = [->(env) { env.clear },
             ->(env) { env.freeze },
             ->(env) { env.compare_by_identity },
             ->(env) { env["rack.response_finished"] = 7 },
             ->(env) { env.default_proc = proc { raise "no" } },
             ->(env) { env["rack.errors"] = nil }]
    serve do |env|
      number = env["QUERY_STRING"]
      spoil[number.to_i].call(env) unless number.empty?
      [200, {}, ["fine"]]
    end
    spoil.each_index do |number|
      assert_equal 200, ask("/?#{number}").status
      assert_serves
    end
  end

  private

  def name_in(env)
    URI.decode_www_form_component(env["PATH_INFO"].delete_prefix("/"))
  end

  # Once the fibers whose responses have arrived are through with what comes after.
  def executor_running
    executor = executors.max_by(&:running)
    within { sleep(0.001) until executor.running.zero? }
    executor.running
  end

  def recurse = recurse + 1
end

require "stringio"
require "uri"
