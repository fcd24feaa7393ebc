# frozen_string_literal: true

require_relative "binding_case"
require "fiddle"
require "open3"
require "rbconfig"
require "neverblock/server/stalls"

# Tests the watch at work all the time: after a millisecond each burst is asked where it is, by job,
# thread and signal. Meanwhile requests go on, garbage is collected at every object, and executors
# come and go.
class StallsBindingTest < BindingCase
  WORDS = [Fiddle::Handle::DEFAULT["poll"],
           [Fiddle::TYPE_VOIDP, Fiddle::TYPE_LONG, Fiddle::TYPE_INT], Fiddle::TYPE_INT].freeze
  HOLDS = Fiddle::Function.new(*WORDS, need_gvl: true)
  LETS_GO = Fiddle::Function.new(*WORDS, need_gvl: false)
  KINDS = {
    "/holds" => -> { HOLDS.call(nil, 0, 8) },
    "/lets_go" => -> { LETS_GO.call(nil, 0, 8) },
    "/ruby" => -> { 20_000.times { |number| number.to_s } },
    "/big" => -> { (3**40_000).to_s },
    "/gc" => -> { GC.start },
    "/parks" => -> { sleep 0.001 },
    "/nested" => -> {
      rows = Enumerator.new { |row| 3.times { |number| row << number.to_s * 1000 } }
      3.times { rows.next }
    },
    "/raises" => -> {
      Array.new(3) { Integer("x", exception: false) }.fetch(7) { raise ArgumentError, "wanted" }
    }
  }.freeze

  def test_requests_are_answered_right_while_each_burst_is_looked_into
    run_with_watch
    KINDS.each_key { |path| 5.times { assert_answered(path) } }
    @told = false
    held = Thread.new { ask("/until_told") }
    place = "test/unit/binding/stalls_test.rb"
    entry = %r{GET /until_told .* so far: a blocking call, in .*call, by #{place}:\d+(?:;|$)}
    Patience.await("the entry", -> { logged.lines.last(20) }) { logged.match?(entry) }
    @told = true
    assert_equal "/until_told", held.value.body
  end

  def test_so_they_are_while_garbage_is_collected_at_every_object
    run_with_watch { |work| stressed(&work) }
    %w[/holds /lets_go /parks /raises].each { |path| assert_answered(path) }
  end

  def test_an_executor_may_end_while_it_is_looked_into
    3.times do
      run_with_watch
      threads = Array.new(3) { Thread.new { ask(%w[/holds /lets_go /big].sample) } }
      threads.each(&:value)
      assert @server.stop(timeout: SECONDS), "the server did not end"
      @server = nil
    end
  end

  # The watch's own thread is made last, and wants Ruby's lock, which the first executor has. The
  # executor takes a request that is there. It keeps the lock in a call until a process has read the
  # entry about that call.
  def test_a_call_that_keeps_rubys_lock_from_the_executors_first_turn_on_is_told_while_it_lasts
    gate, opener = IO.pipe
    wires = []
    script = 'n=0; until grep -q "so far" "$0" || [ $n = $1 ]; ' \
             "do n=$((n + 1)); sleep 0.05; done; echo >&3"
    told = spawn("sh", "-c", script, @log_file.path, (SECONDS * 10).to_s, 3 => opener)
    NeverBlock::Stalls.stub(:places, [[:ours, delivery, ""], [:application, Dir.pwd, ""]]) do
      config = NeverBlock::Config.new(binds: ["http://127.0.0.1:0"], log_fd: @log_file.fileno,
                                      stall_ms: 40, spares: 0, own_lanes: false)
      app = ->(_env) { [200, PLAIN, [HOLDS.call([gate.fileno, 1, 0].pack("iss"), 1, -1).to_s]] }
      @server = NeverBlock::Server.new(config, app, log: @log)
      @server.start(serving: -> { wires << client.tap { |wire| wire.get("/") } })
    end
    assert_equal "1", wires.first.response.body
    assert_match(/so far: a C call that holds Ruby's lock/, logged)
  ensure
    Process.wait(told) if told
    [gate, opener, *wires].each(&:close)
  end

  # The executor is killed while the watch asks Ruby about its thread, and then waits for the end of
  # the watch. Ruby tells no backtrace of a thread that was killed.
  def test_an_executor_may_end_while_ruby_is_asked_about_its_thread
    script = <<~'RUBY'
      require "neverblock"
      require "rack"
      require "socket"
      ASKED = Queue.new
      class Thread
        prepend(Module.new do
          def status
            return super if Thread.current.name != "nb-stalls" || ASKED.closed?
            ASKED.push(self).close
            Thread.pass until backtrace.nil? && stop?
            sleep(0.05) # the watch takes a shorter wait for one for Ruby's lock
            super
          end
        end)
      end
      gate, opener = IO.pipe
      app = ->(_env) { NeverBlock::Compat.blocking { IO.select([gate], nil, nil, 60) } }
      config = NeverBlock::Config.new(binds: ["http://127.0.0.1:0"], stall_ms: 40, spares: 0,
                                      own_lanes: false)
      server = NeverBlock::Server.new(config, app).start
      killer = Thread.new { ASKED.pop.kill.join }
      TCPSocket.open("127.0.0.1", server.urls.first[/\d+$/].to_i) do |socket|
        socket.write("GET / HTTP/1.0\r\n\r\n")
        socket.read
      end
      killer.join
      $stdout.syswrite("fine\n")
      exit!(0)
    RUBY
    load_path = $LOAD_PATH.map { |path| "-I#{path}" }
    output, status = Open3.capture2e("timeout", "-s", "KILL", SECONDS.to_s, RbConfig.ruby,
                                     *load_path, "-e", script)
    assert_equal ["fine", true], [output.lines(chomp: true).last, status.success?], output
  end

  private

  # A path that the watch asks for after the executor has said that it takes requests. It is given
  # 50 ms later, when a request will have come.
  def delivery
    Object.new.tap do |name|
      name.define_singleton_method(:to_str) { LETS_GO.call(nil, 0, 50) && "/nowhere" }
    end
  end

  def run_with_watch
    serve(nil, stall_ms: 1) do |env|
      work = KINDS.fetch(env["PATH_INFO"], method(:wait_until_told))
      block_given? ? yield(work) : work.call
      [200, PLAIN, [env["PATH_INFO"]]]
    end
  end

  def wait_until_told
    LETS_GO.call(nil, 0, 8) until @told
  end

  def stressed
    GC.stress = true
    yield
  ensure
    GC.stress = false
  end

  def assert_answered(path)
    response = ask(path)
    expected = path == "/raises" ? [500, "/raises"] : [200, path]
    assert_equal expected.first, response.status
    assert_equal expected.last, response.body unless path == "/raises"
  end
end
