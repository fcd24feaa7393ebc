# frozen_string_literal: true

require_relative "../support/http_client"
require_relative "../support/stalls_app"
require_relative "../support/server_process_case"

# A server that is held by requests until the test lets them go.
class StallsCase < ServerProcessCase
  class << self
    # Further words of the command.
    def options
      []
    end

    def stalls
      @stalls ||= StallsApp.new(@directory = Dir.mktmpdir("neverblock-stalls"))
    end

    def app
      stalls.rackup
    end

    def server_options
      reason = "a stall in Ruby code is told while requests of its process wait"
      one = options.include?("-w") ? [] : ServerProcess.one_process(reason)
      {
        options: ["--admin", "http://127.0.0.1:0", *options, *one],
        wrap: ["sh", "-c", "cd #{stalls.directory} && exec \"$@\"", "sh"]
      }
    end

    def run(...)
      super
    ensure
      FileUtils.rm_rf(@directory) if @directory
    end
  end

  def setup
    skip "the watch is NeverBlock's" unless neverblock?
  end

  private

  # A request that stalls, and others that wait for it, until the block returns. The block is given
  # its path.
  # @return [String] its path
  def hold(place, kind)
    tag = new_tag
    path = "/#{place}/#{kind}/#{tag}"
    self.class.stalls.close_gate(tag)
    connect do |held|
      held.write(request(path))
      waiting = Thread.new { Thread.pass while ask("/").body == "fine" && !Thread.current[:enough] }
      yield path
      waiting[:enough] = true
      self.class.stalls.open_gate(tag)
      assert_equal "held", held.response.body
      assert waiting.join(Patience::SECONDS), "who has waited is not answered"
      path
    ensure
      waiting&.kill
      self.class.stalls.open_gate(tag)
    end
  end

  def admin(path)
    HTTPClient.get(URI("#{server.admin_url}#{path}"))
  end

  # Of /metrics, those of a kind and a place.
  def counted(family, place, kind)
    culprit = Regexp.escape(self.class.stalls.culprit(place, kind))
    line = /^neverblock_#{family}\{kind="#{kind}",culprit="#{culprit}"\} (\S+)$/
    admin("/metrics")[line, 1].to_f
  end
end

# A stall is told while it lasts, with who is to blame: each kind at each kind of place. Without
# time slices, which would cut the ones in Ruby code short. Each stall lasts until the test, which
# has read what is told of it, lets it go. A kind has a server of its own, since the figures name 32
# culprits.
class StallCasesTest < StallsCase
  WORDS = {
    "ruby" => "Ruby code",
    "gc" => "garbage collection",
    "c_call" => "a C call that holds Ruby's lock",
    "blocking_call" => "a blocking call"
  }.freeze
  # An entry ends with it where the thread was without a processor for half of the time.
  BUSY = "(?:; the machine was busy: its thread waited for a processor for \\d+ ms of that)"

  def self.options
    %w[--cooperative]
  end

  def self.runnable_methods
    self == StallCasesTest ? [] : super
  end

  # @param kind [String]
  # @param places [Array<String>]
  def self.cases(kind, places)
    places.each do |place|
      define_method("test_#{kind}_stall_in_#{place}_is_told_once_while_it_lasts_with_the_right_" \
                    "culprit_and_once_when_it_is_over") do
        stall(kind, place)
      end
    end
  end

  private

  def stall(kind, place)
    culprit = self.class.stalls.culprit(place, kind)
    method =
      if place == "native"
        # A function in C is named, though no file has a line of it.
        "(?:StallsNative\\.)?#{StallsApp::NATIVE.fetch(kind)}"
      else
        "[^,]+"
      end
    blame = "#{WORDS.fetch(kind)}, in #{method}, by #{Regexp.escape(culprit)}#{BUSY}?$"
    path = hold(place, kind) do |held|
      entry = server.await_stderr(/ warning: GET #{held} .*\n(?:    .*\n)+/)[0]
      so_far = /has kept its executor for \d+ ms so far: #{blame}/
      route = ", route /lane/\\*" if place == "lane"
      assert_match(/ warning: GET #{held} \([\w-]+#{route}\) #{so_far}/, entry)
      assert_lines_of_the_application(entry, place, culprit)
      Patience.await("the stall in the figures") { counted("stalls_total", place, kind).positive? }
    end
    entry = server.await_stderr(/ info: .*GET #{path} .*$/)[0]
    assert_match(/ kept its executor for \d+ ms, which is over: #{blame}/, entry)
    Patience.await("its time in the figures") { counted("stall_seconds_total", place, kind) >= 0.1 }
    assert_equal 2, server.stderr.scan(path).size
  end

  # Files under a folder of gems belong to a gem.
  def assert_lines_of_the_application(entry, place, culprit)
    hint = /\A    \(\d+ more; executor \{ stall_trace :whole \} shows all\)\n\z/
    others, lines = entry.lines.drop(1).partition { |line| line.match?(hint) }
    assert_equal 1, others.size, entry if StallsApp::GEMS.key?(place)
    assert_includes 1..5, lines.size, entry
    assert_empty(lines.grep(%r{/gems/[^/]+/}))
    return if StallsApp::GEMS.key?(place) || place == "native"

    assert_match(/^    .*#{Regexp.escape(culprit[/\S+\z/])}:in /, entry)
  end
end

class StallsInRubyTest < StallCasesTest
  cases "ruby", StallsApp::PLACES

  def test_an_application_that_takes_long_to_load_is_no_stall
    server.await_stderr(/process \d+/)
    refute_match(/a fiber of no request/, server.stderr)
  end
end

class StallsOnABusyMachineTest < StallCasesTest
  # Its processor is shared with four processes that compute.
  def test_a_stall_on_a_busy_machine_says_so
    allowed = File.read("/proc/self/status")[/^Cpus_allowed_list:\s*(\S+)/, 1]
    processor = allowed[/\d+/]
    run_on(processor)
    words = ["taskset", "-c", processor, RbConfig.ruby, "-e", "loop {}"]
    others = Array.new(4) { Process.spawn(*words) }
    path = hold("application", "ruby") do |held|
      server.await_stderr(/ warning: GET #{held} /)
      before = starved_ns
      Patience.await("a second without a processor") { starved_ns > before + 1_000_000_000 }
    end
    assert_match(/, by \S+#{BUSY}$/, server.await_stderr(/ info: .*GET #{path} .*$/)[0])
  ensure
    others&.each { |pid| Process.kill(:KILL, pid) && Process.wait(pid) }
    run_on(allowed)
  end

  private

  # Of the thread that was without a processor for longest.
  def starved_ns
    Dir["/proc/#{server.pid}/task/*/schedstat"].map { |file| File.read(file).split[1].to_i }.max
  end

  # All threads of the server.
  def run_on(processors)
    assert system("taskset", "-acp", processors, server.pid.to_s, out: File::NULL)
  end
end

class StallsInCollectionsTest < StallCasesTest
  cases "gc", StallsApp::PLACES
end

class StallsInBlockingCallsTest < StallCasesTest
  cases "blocking_call", [*StallsApp::PLACES, "native"]
end

class StallsInCCallsTest < StallCasesTest
  cases "c_call", [*StallsApp::PLACES, "native"]

  # poll(2) ends with EINTR where a signal comes, and many a library takes that for a failure.
  def test_a_call_that_a_signal_would_cut_short_is_left_alone_and_reported_when_it_is_over
    path = "/application/poll/#{tag = new_tag}"
    self.class.stalls.close_gate(tag)
    connect do |held|
      held.write(request(path))
      call = /a C call that holds Ruby's lock, in poll\(2\)/
      server.await_stderr(
        / warning: a fiber has kept its executor for \d+ ms so far: #{call}(?:;|$)/
      )
      self.class.stalls.open_gate(tag)
      assert_equal "1", held.response["x-polled"]
    ensure
      self.class.stalls.open_gate(tag)
    end
    culprit = Regexp.escape(self.class.stalls.culprit("application", "poll"))
    blame = /a C call that holds Ruby's lock, in poll\(2\), by #{culprit}/
    server.await_stderr(
      / info: GET #{path} .* kept its executor for \d+ ms, which is over: #{blame}(?:;|$)/
    )
    assert_match(/^neverblock_stalls_total\{kind="c_call",culprit="#{culprit}"\} 1$/,
                 admin("/metrics"))
  end

  # Attaches as gdb and strace do, and stops nothing.
  DEBUGGER = <<~RUBY
    require "fiddle"
    long = Fiddle::TYPE_LONG
    pointer = Fiddle::TYPE_VOIDP
    function = Fiddle::Handle::DEFAULT["ptrace"]
    ptrace = Fiddle::Function.new(function, [long, long, pointer, pointer], long)
    # PTRACE_SEIZE (ptrace(2)). The end of the tracer detaches.
    puts ptrace.call(0x4206, Integer(ARGV[0]), nil, nil).zero? ? "attached" : "refused"
    $stdout.flush
    $stdin.read
  RUBY

  def test_nothing_is_told_while_a_debugger_is_attached
    IO.popen([RbConfig.ruby, "-e", DEBUGGER, server.pid.to_s], "r+") do |debugger|
      skip "this machine lets no process trace another" unless debugger.gets == "attached\n"
      path = hold("debugged", "c_call") do
        Patience.await("a stall that would have been told") { busy_for_s > 0.5 }
      end
      refute_includes server.stderr, path
    end
    stall("c_call", "debugged")
  end

  private

  # How long the executor has run its fiber.
  def busy_for_s
    JSON.parse(admin("/status.json"))["executors"].map { |executor| executor["busy_for_s"] }.max
  end
end

# Where others than the executor of fibers run.
class StallsOfOthersTest < StallCasesTest
  def self.stalls
    @stalls ||= super.tap { |app| app.configure("route \"/lane/*\", lane: :thread\n") }
  end

  def self.options
    []
  end

  # A lane's thread is there to be kept; Ruby's lock is everybody's.
  def test_a_lanes_call_that_holds_rubys_lock_is_told_with_its_route
    stall("c_call", "lane")
  end

  def test_a_lanes_blocking_call_is_none
    path = hold("lane", "blocking_call") { stall("blocking_call", "application") }
    refute_includes server.stderr, path
  end

  # The first keeps the executor, the second the spare that took its place.
  def test_a_spares_stall_is_told_as_an_executors
    hold("gem", "blocking_call") do |first|
      server.await_stderr(/ warning: GET #{first} /)
      stall("blocking_call", "nested")
    end
  end
end

# Where each allocation collects, a trace takes longer than it is until the next is asked for.
class StallsOfASlowHeapTest < StallsCase
  LANE_THREADS = 8
  # Frames of each request that waits.
  DEPTH = 60
  SLEEPERS = 6

  def self.app
    <<~RACKUP
      gate = Queue.new
      deeper = ->(frames, &block) { frames.zero? ? block.call : deeper.call(frames - 1, &block) }
      collecting = lambda do
        over = false
        sleepers = Array.new(#{SLEEPERS}) { Thread.new { sleep(0.001) until over } }
        Thread.new do
          GC.stress = true
          sleep(0.5)
        ensure
          GC.stress = false
          over = true
        end.join
        sleepers.each(&:join)
      end
      run lambda { |env|
        deeper.call(#{DEPTH}) { gate.pop } if env["PATH_INFO"].start_with?("/lane/")
        collecting.call if env["PATH_INFO"] == "/collecting"
        gate.close if env["PATH_INFO"] == "/open"
        [200, { "content-type" => "text/plain" }, ["done"]]
      }
    RACKUP
  end

  def self.stalls
    @stalls ||= super.tap do |app|
      app.configure("executor { stall_ms 5 }\n" \
                    "route \"/lane/*\", lane: :thread, at_once: #{LANE_THREADS}\n")
    end
  end

  # Who sleeps runs the job that takes the traces, and Ruby makes nobody yield who is about to
  # sleep.
  def test_traces_that_take_long_leave_rubys_lock_to_others
    assert_equal "done", ask("/").body
    waiting = Array.new(LANE_THREADS) { |number| Thread.new { ask("/lane/#{number}").body } }
    Patience.await("requests in all threads of the lane") { in_lane == LANE_THREADS }
    assert_equal "done", ask("/collecting").body
    assert_equal "done", ask("/open").body
    assert_equal ["done"] * LANE_THREADS, waiting.map(&:value)
  end

  private

  def in_lane
    JSON.parse(admin("/status.json"))["executors"].sum { |executor| executor["running"] }
  end
end

# In a worker, whose front goes on, and as JSON.
class StallsOfWorkersTest < StallsCase
  def self.options
    %w[--cooperative -w 2 --log-format json]
  end

  def self.stalls
    @stalls ||= super.tap { |app| app.configure("executor { stall_trace :whole }\n") }
  end

  def test_a_worker_tells_of_its_stall_while_it_lasts_and_the_front_has_the_figures
    path = hold("gem", "c_call") do |held|
      entry = entry_of(/"level":"warning".*#{held}/)
      expected = {
        "stall" => "c_call",
        "culprit" => self.class.stalls.culprit("gem", "c_call"),
        "method" => "GET",
        "path" => held,
        "in" => entry["backtrace"][0][/in .(.*)'\z/, 1]
      }
      assert_equal expected, entry.slice(*expected.keys)
      gem, file = self.class.stalls.culprit("gem", "c_call").split
      assert_match(%r{/#{gem}/#{file}:in }, entry["backtrace"].join("\n"))
      refute_includes entry, "lines_left_out"
      assert_includes [0, 1], entry["worker"]
      assert_match(/\A[\w-]+\z/, entry["request_id"])
      Patience.await("the stall in the front's figures") do
        counted("stalls_total", "gem", "c_call") >= 1
      end
      page = JSON.parse(admin("/status.json")).fetch("stalls")
      assert_operator page["total"], :>=, 1
      assert_includes page["by"].map { |row| row.values_at("kind", "culprit") },
                      ["c_call", self.class.stalls.culprit("gem", "c_call")]
    end
    assert_operator entry_of(/"level":"info".*#{path}.*which is over/).fetch("stall_ms"), :>=, 100
    Patience.await("its time in the front's figures") do
      counted("stall_seconds_total", "gem", "c_call") >= 0.1
    end
  end

  def test_what_an_ended_worker_has_counted_stays
    hold("middleware", "blocking_call") { |held| entry_of(/"level":"warning".*#{held}/) }
    before = Patience.await("the stall in the front's figures") do
      count = counted("stalls_total", "middleware", "blocking_call")
      count if count.positive?
    end
    pids = JSON.parse(admin("/status.json"))["executors"].map { |executor| executor["pid"] }
    pids.each { |pid| Process.kill(:KILL, pid) }
    Patience.await("other workers") do
      now = JSON.parse(admin("/status.json"))["executors"].map { |executor| executor["pid"] }
      now.size == 2 && (now & pids).empty?
    end
    assert_operator counted("stalls_total", "middleware", "blocking_call"), :>=, before
  end

  private

  def entry_of(pattern)
    JSON.parse(server.await_stderr(/^\{.*#{pattern}.*$/)[0])
  end
end
