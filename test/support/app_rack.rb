# frozen_string_literal: true

# The application of the integration suites. /NAME is answered by RackApp#on_NAME; `tag` in the
# query names the request in the events.

require "json"
require "digest"
require "net/http"
require "timeout"

require_relative "app_events"
require_relative "app_bodies"
require_relative "app_processes"

class RackApp
  HELD_SHORTLY = Mutex.new

  def initialize
    @lock = Mutex.new
    @gates = Hash.new { |hash, key| hash[key] = Queue.new }
    AppProcesses.hear { |name| queue(name) << :go }
  end

  # Rack 3 wants names in lower case, Rack 2 takes them too.
  def call(env)
    name = env["PATH_INFO"][%r{\A/([a-z_]+)}, 1] || "hello"
    tag = env["QUERY_STRING"][/(?:\A|&)tag=([\w.-]+)/, 1]
    AppEvents.put("call", tag) if tag
    return [404, text, ["no route #{name}"]] unless respond_to?("on_#{name}")

    public_send("on_#{name}", env, tag)
  end

  # The routes.
  module Routes
    def on_hello(_env, _tag)
      [200, { "content-type" => "text/plain" }, ["hello"]]
    end

    # -- env --------------------------------------------------------------

    def on_env(env, _tag)
      strings, others = env.partition { |_, value| value.is_a?(String) }.map(&:to_h)
      json(strings: strings.transform_values { |value| value.b.inspect[1..-2] },
           encodings: strings.transform_values { |value| value.encoding.name },
           others: others.transform_values { |value| value.class.name },
           body: env["rack.input"]&.read.to_s.b.inspect[1..-2],
           hijack: [env["rack.hijack?"], env["rack.hijack"].respond_to?(:call)],
           finished: env["rack.response_finished"].is_a?(Array), frozen: env.frozen?)
    end

    # Leaves traces in the env of this request and says whether it finds any of an earlier one.
    def on_env_leak(env, _tag)
      found = [
        env["test.leak"], env["PATH_INFO"].include?("spoilt"),
        !%w[http https].include?(env["rack.url_scheme"]),
        !%w[HTTP/1.1 HTTP/2].include?(env["SERVER_PROTOCOL"])
      ]
      env["test.leak"] = true
      %w[
        PATH_INFO SCRIPT_NAME rack.url_scheme SERVER_PROTOCOL REQUEST_METHOD HTTP_HOST SERVER_NAME
        QUERY_STRING
      ].each { |key| env[key] << "spoilt" unless env[key].frozen? }
      json(found: found.any?)
    end

    def on_input(env, _tag)
      input = env["rack.input"]
      all = input.read
      input.rewind
      start = input.read(3)
      buffer = +"old"
      input.read(2, buffer)
      line = input.gets
      rest = []
      input.each { |part| rest << part }
      input.rewind
      json(all: all, encoding: all.encoding.name, start: start, buffer: buffer, line: line,
           rest: rest, again: input.read, at_end: [input.read, input.read(1), input.gets])
    end

    def on_upload(env, _tag)
      digest = Digest::SHA256.new
      bytes = 0
      while (part = env["rack.input"].read(65_536))
        digest << part
        bytes += part.bytesize
      end
      json(bytes: bytes, sha256: digest.hexdigest, length: env["CONTENT_LENGTH"],
           spooled: spooled_files)
    end

    def on_errors(env, tag)
      env["rack.errors"].puts("puts of #{tag}")
      env["rack.errors"].write("write of #{tag}\n")
      env["rack.errors"].flush
      on_hello(env, tag)
    end

    # -- bodies -----------------------------------------------------------

    def on_array(_env, tag)
      [200, text, AppBodies::ClosableArray.new(tag, ["one ", "", "twö"])]
    end

    def on_each(_env, tag)
      [200, text, AppBodies::Parts.new(tag, ["one ", "", "twö"])]
    end

    def on_to_ary(_env, tag)
      [200, text, AppBodies::ToAry.new(tag, ["one ", "", "twö"])]
    end

    def on_empty_array(_env, _tag)
      [200, text, []]
    end

    def on_empty_each(_env, tag)
      [200, text, AppBodies::Parts.new(tag, [])]
    end

    def on_frozen_array(_env, _tag)
      [200, text.freeze, ["frozen"].freeze].freeze
    end

    def on_each_with_length(_env, tag)
      [200, text("content-length" => "10"), AppBodies::Parts.new(tag, %w[01234 56789])]
    end

    def on_each_too_short(_env, tag)
      [200, text("content-length" => "11"), AppBodies::Parts.new(tag, %w[01234 56789])]
    end

    def on_each_too_long(_env, tag)
      [200, text("content-length" => "8"), AppBodies::Parts.new(tag, %w[01234 56789])]
    end

    def on_file(env, tag)
      headers = env.key?("HTTP_X_LENGTH") ? { "content-length" => env["HTTP_X_LENGTH"] } : {}
      [200, text(headers), AppBodies::FileByPath.new(tag, env.fetch("HTTP_X_FILE"))]
    end

    def on_status_with_body(env, tag)
      status = env["QUERY_STRING"][/status=(\d+)/, 1].to_i
      [status, [204, 304].include?(status) ? {} : text, AppBodies::Parts.new(tag, %w[some body])]
    end

    # A status that is no number, by the query.
    def on_odd_status(env, tag)
      odd = { "text" => "ok", "nil" => nil, "large" => 2**70, "digits" => "201" }
      [odd.fetch(env["QUERY_STRING"][/status=(\w+)/, 1]), text, [tag]]
    end

    def on_raise_in_first_each(_env, tag)
      [200, text, AppBodies::Parts.new(tag, %w[a b], raise_at: 0)]
    end

    def on_raise_in_second_each(_env, tag)
      [200, text, AppBodies::Parts.new(tag, %w[a b], raise_at: 1)]
    end

    def on_raise_in_each_with_length(_env, tag)
      [200, text("content-length" => "2"), AppBodies::Parts.new(tag, %w[a b], raise_at: 1)]
    end

    def on_raise_in_close(_env, tag)
      error = RuntimeError.new("close of #{tag} failed")
      [200, text, AppBodies::Parts.new(tag, %w[a b], close_error: error)]
    end

    def on_part_not_a_string(_env, tag)
      [200, text, AppBodies::Parts.new(tag, ["a", 5])]
    end

    def on_injection(_env, tag)
      [200, text("x-bad" => "a\r\nInjected: #{tag}"), AppBodies::Parts.new(tag, %w[a b])]
    end

    def on_header_array(_env, _tag)
      [200, text("set-cookie" => ["a=1", "b=2"]), ["body"]]
    end

    def on_header_lines(_env, _tag)
      [200, text("set-cookie" => "a=1\nb=2"), ["body"]]
    end

    def on_rack_headers(_env, _tag)
      [200, text("rack.private" => "secret", "x-seen" => "1"), ["body"]]
    end

    def on_own_date(_env, _tag)
      [200, text("date" => "Sun, 06 Nov 1994 08:49:37 GMT", "server" => "mine"), ["body"]]
    end

    def on_close_please(_env, _tag)
      [200, text("connection" => "close"), ["body"]]
    end

    def on_upgrade_please(_env, _tag)
      headers = { "connection" => "upgrade", "upgrade" => "websocket", "keep-alive" => "timeout=5" }
      [200, text(headers), ["body"]]
    end

    def on_big_each(_env, tag)
      [200, text, AppBodies::Repeated.new(tag, "0123456789abcdef" * 4096, 320)]
    end

    def on_big_array(_env, tag)
      [200, text, AppBodies::ClosableArray.new(tag, Array.new(320) { "0123456789abcdef" * 4096 })]
    end

    def on_endless(_env, tag)
      [200, text, AppBodies::Endless.new(tag, "x" * 16_384)]
    end

    # -- errors -----------------------------------------------------------

    def on_failing(_env, tag)
      raise ArgumentError, "failure of #{tag}"
    end

    def on_failing_hard(_env, tag)
      raise NotImplementedError, "failure of #{tag}"
    end

    def on_failing_in_utf(_env, tag)
      raise ArgumentError, "failure of \u00e9 #{tag}".encode("UTF-16LE")
    end

    # Methods of the error itself fail.
    def on_failing_with_its_cause(_env, tag)
      error = ArgumentError.new("failure of #{tag}")
      error.define_singleton_method(:cause) { raise "no cause" }
      raise error
    end

    def on_failing_with_its_trace(_env, _tag)
      error = ArgumentError.new("failure")
      error.define_singleton_method(:backtrace) { 7 }
      raise error
    end

    def on_failing_hijacked(env, tag)
      env["rack.hijack"].call.write("HTTP/1.1 200 OK\r\n\r\nraw")
      raise ArgumentError, "failure of #{tag}"
    end

    def on_too_deep(env, tag)
      on_too_deep(env, tag)
    end

    def on_thrown(_env, tag)
      throw :"thrown_#{tag}"
    end

    def on_returns_nil(_env, _tag)
      nil
    end

    def on_returns_two(_env, _tag)
      [200, {}]
    end

    def on_returns_bad_body(_env, _tag)
      [200, {}, 5]
    end

    def on_returns_bad_headers(_env, _tag)
      [200, 5, ["body"]]
    end

    # -- response_finished ------------------------------------------------

    def on_finished(env, tag)
      fiber = Fiber.current.object_id
      2.times { |order| env["rack.response_finished"] << teller(tag, fiber, order) }
      case env["QUERY_STRING"][/how=(\w+)/, 1]
      when "raise" then raise "finished #{tag}"
      when "each_raises" then [200, text, AppBodies::Parts.new(tag, %w[a b], raise_at: 1)]
      when "endless" then [200, text, AppBodies::Endless.new(tag, "x" * 16_384)]
      when "callable_raises"
        env["rack.response_finished"] << ->(*) { raise "callable of #{tag} failed" }
        [200, text, AppBodies::Parts.new(tag, %w[a b])]
      else [200, text("x-told" => "1"), AppBodies::Parts.new(tag, %w[a b])]
      end
    end

    # -- isolation --------------------------------------------------------

    def on_isolation(_env, _tag)
      storage = Fiber.respond_to?(:[])
      found = {
        local: Thread.current[:left], storage: storage && Fiber[:left], error: $!&.message,
        variable: Fiber.current.instance_variable_get(:@left)
      }
      Thread.current[:left] = "left"
      Fiber[:left] = "left" if storage
      Fiber.current.instance_variable_set(:@left, "left")
      json(found)
    end

    # -- gates ------------------------------------------------------------

    # Answers when everybody is here: nobody leaves before `all` have entered.
    def on_barrier(env, tag)
      all = env["QUERY_STRING"][/all=(\d+)/, 1].to_i
      gate = gate(tag)
      all.times { AppProcesses.say(tag) } if AppProcesses.enter(tag) == all
      gate.pop
      on_hello(env, tag)
    end

    def on_barrier_by_sleep(env, tag)
      all = env["QUERY_STRING"][/all=(\d+)/, 1].to_i
      AppProcesses.enter(tag)
      sleep 0.002 until AppProcesses.entered(tag) >= all
      on_hello(env, tag)
    end

    def on_fetch(env, _tag)
      [200, text, [Net::HTTP.get(URI(env.fetch("HTTP_X_URL")))]]
    end

    def on_gated_body(env, tag)
      [200, text, AppBodies::Gated.new(tag, gate(gate_name(env)))]
    end

    # Waits until /open?gate=NAME is asked for.
    def on_wait(env, tag)
      AppEvents.put("waiting", tag) if tag
      gate(gate_name(env)).pop
      [200, text, ["waited #{tag}"]]
    end

    def on_open(env, tag)
      AppProcesses.say(gate_name(env))
      on_hello(env, tag)
    end

    # Waits until the test lets go (Gate).
    def on_held(env, _tag)
      TCPSocket.open("127.0.0.1", Integer(env["QUERY_STRING"][/port=(\d+)/, 1], 10), &:read)
      [200, text, ["let go"]]
    end

    def on_sleep_ms(env, _tag)
      milliseconds = env["QUERY_STRING"][/ms=(\d+)/, 1].to_i
      sleep milliseconds / 1000.0
      [200, text, ["slept #{milliseconds}"]]
    end

    def on_bytes(env, _tag)
      [200, text, ["0123456789abcdef" * (env["QUERY_STRING"][/count=(\d+)/, 1].to_i / 16)]]
    end

    # What Ruby itself may do inside a request: each of these waits.
    def on_waits_in_fiber(_env, _tag)
      fiber = Fiber.new do
        sleep 0.002
        Fiber.yield "a"
        sleep 0.002
        "b"
      end
      [200, text, [fiber.resume, fiber.resume]]
    end

    def on_waits_in_enumerator(_env, _tag)
      numbers = Enumerator.new do |yielder|
        3.times { |number| yielder << (sleep(0.002) && number) }
      end
      [200, text, Array.new(3) { numbers.next.to_s }]
    end

    def on_waits_for_scheduled_fiber(_env, _tag)
      queue = Queue.new
      Fiber.schedule { sleep(0.002) && queue << "scheduled" }
      [200, text, [queue.pop]]
    end

    def on_waits_for_thread(_env, _tag)
      [200, text, [Thread.new { sleep(0.002) && "thread" }.value]]
    end

    def on_waits_too_long(_env, _tag)
      Timeout.timeout(0.02) { sleep 5 }
    rescue Timeout::Error
      [200, text, ["timed out"]]
    end

    def on_waits_in_lock(_env, _tag)
      [200, text, [HELD_SHORTLY.synchronize { sleep(0.002) && "locked" }]]
    end

    def on_waits_for_child(_env, _tag)
      [200, text, [IO.popen(%w[echo child], &:read).chomp]]
    end

    def on_exits(_env, _tag)
      exit 3
    end

    def on_interrupted(_env, _tag)
      raise Interrupt
    end

    def on_echo(env, _tag)
      [200, text,
       [env["REQUEST_METHOD"], " ", env["QUERY_STRING"], " ", env["rack.input"]&.read.to_s]]
    end
  end

  include Routes

  private

  def gate_name(env)
    env["QUERY_STRING"][/gate=(\w+)/, 1]
  end

  # With workers a word opens the gate of that name in each process. Such a gate may hold no more
  # requests than it is opened for, but in one of them.
  # @return [Queue] which gives the request that pops it leave to go
  def gate(name)
    AppProcesses.attend
    queue(name)
  end

  def queue(name)
    @lock.synchronize { @gates[name] }
  end

  def text(more = {})
    { "content-type" => "text/plain" }.merge(more)
  end

  def json(value)
    [200, { "content-type" => "application/json" }, [JSON.generate(value)]]
  end

  def teller(tag, fiber, order)
    lambda do |env, status, headers, error|
      same_fiber = Fiber.current.object_id == fiber
      AppEvents.put("finished", tag, order: order, same_fiber: same_fiber, path: env["PATH_INFO"],
                                     status: status, told: headers && headers["x-told"],
                                     error: error && "#{error.class}: #{error.message}")
    end
  end

  # The unlinked files this process holds, with their permissions.
  def spooled_files
    Dir.children("/proc/self/fd").filter_map do |fd|
      target = File.readlink("/proc/self/fd/#{fd}")
      File.stat("/proc/self/fd/#{fd}").mode.to_s(8) if target.end_with?("(deleted)")
    rescue Errno::ENOENT
      nil
    end
  end
end
