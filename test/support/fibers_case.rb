# frozen_string_literal: true

# An application each of whose paths is held in a wait of its kind until the test lets it go, and
# what the admin address says of these requests.

require "json"
require "open3"
require "rbconfig"
require "socket"
require "tmpdir"
require_relative "http_client"
require_relative "patience"
require_relative "server_process_case"

class FibersCase < ServerProcessCase
  ROOT = File.expand_path("../..", __dir__)
  # What each path does, once for each kind of wait; the test lets it go.
  HELD = {
    "queue" => "gate(tag).pop",
    "sleep" => "SLEEPERS[tag] = Fiber.current; begin; sleep(3600); rescue Woken; nil; end",
    "lock" => "LOCK.synchronize { 1 }",
    "holder" => "LOCK.synchronize { gate(tag).pop }",
    "condition" => "CONDITION_LOCK.synchronize { CONDITION.wait(CONDITION_LOCK) }",
    "thread" => "Thread.new { gate(tag).pop }.join",
    "fibers" => "NB.all(-> { gate(tag).pop })",
    "offload" => "NB.offload { gate(tag).pop }",
    "pool" => "POOL.hold { gate(tag).pop }",
    "named" => "NeverBlock::Scheduler.next_wait(:pool, %q(tickets)); gate(tag).pop",
    "unknown" => "NeverBlock::Scheduler.next_wait(:coffee); gate(tag).pop",
    "process" => "system(\"cat\", fifo(tag), out: File::NULL)",
    "io" => "PIPES[tag].first.gets",
    "http" => "Net::HTTP.get(URI(\"http://127.0.0.1:\#{tag}/silent\"))",
    "c_call" => "HOLDS_LOCK.call(File.open(fifo(tag), File::RDWR).fileno, +\" \", 1)",
    "ruby" => "file = File.open(fifo(tag), File::RDWR | File::NONBLOCK); " \
              "nil while file.read_nonblock(1, exception: false) == :wait_readable"
  }.freeze

  class << self
    def options
      []
    end

    def directory
      @directory ||= File.realpath(Dir.mktmpdir("neverblock-fibers"))
    end

    def app
      cases = HELD.map { |kind, code| "  when \"#{kind}\"\n    #{code}" }.join("\n")
      <<~RACKUP
        require "fiddle"
        require "net/http"
        require "neverblock/pool/fibered_connection_pool"
        LOCK, CONDITION_LOCK = Array.new(2) { Thread::Mutex.new }
        CONDITION = Thread::ConditionVariable.new
        POOL = NeverBlock::Pool::FiberedConnectionPool.new(size: 1) { Object.new }
        Woken = Class.new(StandardError)
        SLEEPERS = {}
        GATES = Hash.new { |gates, tag| gates[tag] = Thread::Queue.new }
        PIPES = Hash.new { |pipes, tag| pipes[tag] = IO.pipe }
        words = [Fiddle::TYPE_INT, Fiddle::TYPE_VOIDP, Fiddle::TYPE_LONG], Fiddle::TYPE_LONG
        HOLDS_LOCK = Fiddle::Function.new(Fiddle::Handle::DEFAULT["read"], *words, need_gvl: true)
        def gate(tag) = GATES[tag]
        def fifo(tag) = File.join("#{directory}", tag)
        run ->(env) {
          _, kind, tag = env["PATH_INFO"].split("/")
          case kind
          when "release"
            GATES[tag] << :go
            PIPES[tag].last.puts("go") if PIPES.key?(tag)
            Fiber.scheduler.fiber_interrupt(SLEEPERS[tag], Woken.new) if SLEEPERS.key?(tag)
            CONDITION_LOCK.synchronize { CONDITION.broadcast }
        #{cases}
          when "big"
            body = Enumerator.new { |parts| 400.times { parts << "x" * 65_536 } }
            next [200, {}, body]
          end
          [200, {}, ["done"]]
        }
      RACKUP
    end

    def server_options
      one = options.include?("-w") ? [] : ServerProcess.one_process("one executor is stuck")
      { options: ["--admin", "http://127.0.0.1:0", *options, *one] }
    end

    def run(...)
      super
    ensure
      FileUtils.rm_rf(@directory) if @directory
    end
  end

  def setup
    skip "the admin address is NeverBlock's" unless neverblock?
  end

  private

  # Has a request under way while the block runs.
  def under_way(kind, tag = new_tag, release: -> { ask("/release/#{tag}") })
    connect do |held|
      held.write(request("/#{kind}/#{tag}?secret=1"))
      yield tag
      release.call
      assert_equal "done", held.response.body
    ensure
      release.call unless $!.nil?
    end
  end

  def document(query = "")
    JSON.parse(HTTPClient.get(URI("#{server.admin_url}/fibers.json#{query}")))
  end

  # @return [Hash] the request's own fiber, once the block holds for it
  def found(kind, tag, query = "")
    fiber = nil
    Patience.await("#{kind} is found") do
      fibers = document(query).fetch("fibers")
      fiber = fibers.find { |one| one["path"] == "/#{kind}/#{tag}" && one["fiber"] == "request" }
      fiber && yield(fiber)
    end
    fiber
  end

  def waiting(kind, tag, query = "", **wanted)
    found(kind, tag, query) do |fiber|
      waits = fiber["waits_for"] || {}
      fiber["state"] == "waiting" && wanted.all? { |name, value| waits[name.to_s] == value }
    end
  end

  def traced(kind, tag)
    found(kind, tag, "?backtrace=1") { |fiber| fiber["line"] && fiber["backtrace"] }
  end

  # The request may still be connecting, on another line.
  def await_query(kind, tag, line, **wanted)
    Patience.await("a query at #{line.inspect}") do
      waiting(kind, tag, kind: "database", **wanted)
      line.match?(traced(kind, tag)["line"])
    end
  end

  # The line of the rackup file that a kind's code is on.
  def line_of(kind)
    text = self.class.app.lines.index { |line| line.include?(HELD.fetch(kind)) } + 1
    /:#{text}\z/
  end

  def make_fifo(tag)
    path = File.join(self.class.directory, tag)
    File.mkfifo(path)
    path
  end

  def open_fifo(path)
    File.open(path, File::RDWR | File::NONBLOCK).tap { |file| file.syswrite("x") }
  end

  # Its reader ends when this writer has closed it.
  def write_fifo(path)
    File.open(path, "w") { |file| file.write("x") }
  end

  def command(*words, name: "fibers")
    Open3.capture3({ "NB_DEBUG" => nil }, RbConfig.ruby, "-I", File.join(ROOT, "lib"),
                   File.join(ROOT, "exe/neverblock"), name, "--admin", server.admin_url, *words)
  end
end
