# frozen_string_literal: true

# Habits of code that was written for threads: what it keeps for "the thread", and limits around
# work that does not wait. /NAME is answered by Habits#NAME.

require "concurrent"
require "json"
require "logging"
require "monitor"
require "socket"
require "timeout"

require_relative "app_events"

class Habits
  LOCAL = Concurrent::ThreadLocalVar.new { 0 }
  SECONDS = 0.2
  # Longer than any test waits.
  FOR_EVER = 3600

  # Runs each request in a fiber of its own, as effect systems do.
  class InFiber
    def initialize(app)
      @app = app
    end

    def call(env)
      Fiber.new { @app.call(env) }.resume
    end
  end

  # @param door [#pass] holds requests until all are inside
  def initialize(door)
    @door = door
  end

  def call(env)
    query = env["QUERY_STRING"].split("&").to_h { |pair| pair.split("=", 2) }
    answer = public_send(env["PATH_INFO"].delete_prefix("/"), query)
    [200, { "content-type" => "application/json" }, [JSON.generate(answer)]]
  end

  # --- What belongs to the thread ---

  # $? before any command, after one, and after a wait.
  def status(query)
    before = $?&.exitstatus
    system("exit #{query["me"]}")
    own = $?.exitstatus
    wait(query)
    [before, own, $?&.exitstatus, Enumerator.new { |yielder| yielder << $?&.exitstatus }.next]
  end

  def variables(query)
    me = query["me"]
    thread = Thread.current
    before = [
      thread.thread_variable_get(:me), thread.thread_variables, Logging.mdc["me"], LOCAL.value
    ]
    thread.thread_variable_set("me", me)
    Logging.mdc["me"] = me
    LOCAL.value = me
    wait(query)
    [before, read_variables, Enumerator.new { |yielder| yielder << read_variables }.next]
  end

  def read_variables
    thread = Thread.current
    [thread.thread_variable_get(:me), thread.thread_variable?(:me), Logging.mdc["me"], LOCAL.value]
  end

  # A client that is kept where libraries keep theirs, and state that is not to be.
  def client(query)
    client = Thread.current[:client] ||= TCPSocket.new("127.0.0.1", Integer(query["port"]))
    kept = [Thread.current[:user], Thread.current.thread_variable_get(:user)]
    Thread.current[:user] = { name: query["me"] }
    Thread.current.thread_variable_set(:user, Struct.new(:name).new(query["me"]))
    client.puts(query["me"])
    [client.gets.chomp, kept]
  end

  # --- Limits ---

  # @return [String, nil] what came of a Timeout around this work
  def limited(query)
    Timeout.timeout(SECONDS) { public_send(query["work"]) }
    nil
  rescue Timeout::Error
    "over"
  end

  def deadline(query)
    NB.deadline(SECONDS) { public_send(query["work"]) }
    nil
  rescue NB::DeadlineExceeded
    "over"
  end

  def unlimited(query)
    AppEvents.put("began", query["tag"])
    public_send(query["work"])
  ensure
    AppEvents.put("ended", query["tag"], error: $!.class.name)
  end

  def compute
    nil until Process.clock_gettime(Process::CLOCK_MONOTONIC).zero?
  end

  # Ruby 3.2 and later remember what did not match, but for expressions that refer to a group.
  def match
    /\A(x+x+)+\1z|(x|xx)+\2\z/.match?("#{"x" * 60}y")
  end

  def sort
    Array.new(100) { |number| number }.sort_by { |_| compute }
  end

  def compute_in_enumerator
    Enumerator.new { |_| compute }.next
  end

  def wait_in_enumerator
    Enumerator.new { |_| sleep(FOR_EVER) }.next
  end

  # On a thread this waits for ever as well.
  def lock_in_enumerator
    monitor = Monitor.new
    inside = Enumerator.new { |_| monitor.synchronize { nil } }
    monitor.synchronize { inside.next }
  end

  # `ensure` blocks of what is ended run, and may wait.
  def ended(query)
    Thread.current[:seen] = seen = []
    begin
      Timeout.timeout(SECONDS) do
        compute
      ensure
        sleep(0.01)
        seen << "ensure"
      end
    rescue Timeout::Error => e
      seen << e.message
    end
    wait(query)
    seen
  end

  private

  def wait(query)
    @door.pass(Integer(query["at_once"])) if query["at_once"]
  end
end
