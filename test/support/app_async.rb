# frozen_string_literal: true

# An application that is written with Async, for scheduler_async_test.rb. The path names the method;
# what it returns is the response as JSON, unless it is a whole response. `tag` in the query names
# its events.

require "async"
require "async/barrier"
require "async/condition"
require "async/notification"
require "async/queue"
require "async/semaphore"
require "async/http/internet"
require "json"
require "rack/utils"
require "socket"

require_relative "app_events"

class AsyncApp
  class Spoiled < StandardError; end

  def initialize
    @meetings = Hash.new do |all, tag|
      all[tag] = { condition: Async::Condition.new, inside: 0 }
    end
    @slots = Async::Semaphore.new(2)
  end

  def call(env)
    query = Rack::Utils.parse_query(env["QUERY_STRING"])
    name = env["PATH_INFO"].delete_prefix("/")
    return [404, {}, []] unless self.class.public_method_defined?(name, false)

    found = public_send(name, env, query)
    found.is_a?(Array) && found.first == :response ? found.drop(1) : json(found)
  end

  def task(env, query)
    task = Async::Task.current
    env["rack.response_finished"] << lambda { |*|
      AppEvents.put("finished", query["tag"], same: Async::Task.current.equal?(task))
    }
    [task.class.name, task.running?, Fiber.scheduler.is_a?(Async::Scheduler),
     task.reactor.equal?(Fiber.scheduler)]
  end

  # Waits until so many requests are here.
  def meet(_env, query)
    meeting = @meetings[query["tag"]]
    meeting[:inside] += 1
    if meeting[:inside] == query["count"].to_i
      meeting[:condition].signal(:all)
    else
      meeting[:condition].wait
    end
    meeting[:inside]
  end

  # Until it is ended from outside.
  def held(_env, query)
    AppEvents.put("held", query["tag"])
    Async::Condition.new.wait
  rescue NeverBlock::Error => e
    AppEvents.put("ended", query["tag"], by: e.class.name)
    raise
  end

  # Until the test lets it go (support/gate.rb).
  def gate(_env, query)
    Async { TCPSocket.open("127.0.0.1", query["port"].to_i, &:read) }.wait
    "let go"
  end

  # Each child waits for the request, which waits for it.
  def children(_env, _query)
    there = Async::Queue.new
    go = Async::Condition.new
    tasks = Array.new(3) do |number|
      Async do
        there.enqueue(number)
        go.wait * number
      end
    end
    came = Array.new(3) { there.dequeue }
    go.signal(10)
    [came, tasks.map(&:wait)]
  end

  def barrier(_env, _query)
    barrier = Async::Barrier.new
    done = []
    2.times { |number| barrier.async { done << sleep(0) && number } }
    barrier.wait
    done.size
  end

  def semaphore(_env, _query)
    inside = most = 0
    tasks = Array.new(6) do |number|
      @slots.async do
        most = [most, inside += 1].max
        2.times { sleep(0) }
        inside -= 1
        number
      end
    end
    [tasks.map(&:wait), most]
  end

  def notification(_env, _query)
    notification = Async::Notification.new
    waiting = Array.new(2) { Async { notification.wait } }
    notification.signal("told")
    waiting.map(&:wait)
  end

  def limited_queue(_env, _query)
    queue = Async::LimitedQueue.new(1)
    producer = Async { 4.times { |number| queue.enqueue(number) } }
    taken = Array.new(4) { queue.dequeue }
    producer.wait
    taken
  end

  def with_timeout(_env, _query)
    Async::Task.current.with_timeout(0.001) { Async::Condition.new.wait }
  rescue Async::TimeoutError => e
    still = Async::Task.current.with_timeout(1000) { |timeout| timeout.respond_to?(:adjust) }
    [e.class.name, still]
  end

  def timeouts_of_ruby(_env, _query)
    Timeout.timeout(0.001) { Async::Condition.new.wait }
  rescue Timeout::Error => e
    e.class.name
  end

  # A stopped task has run its `ensure` when #stop returns.
  def stop_child(_env, _query)
    log = []
    child = Async do
      Async::Condition.new.wait
    ensure
      log << "ensured"
    end
    child.stop
    log << child.alive?.inspect
  end

  def stop_parent(_env, _query)
    log = []
    parent = Async do |task|
      task.async do
        task.stop
        log << "child goes on"
      end
      Async::Condition.new.wait
    ensure
      log << "parent ensured"
    end
    parent.wait
    sleep(0)
    log.sort
  end

  def stop_itself(_env, _query)
    Async::Task.current.stop
  end

  def defer_stop(_env, _query)
    log = []
    child = Async do |task|
      task.defer_stop do
        sleep(0)
        log << "whole"
      end
      log << "never"
    end
    child.stop
    child.wait
    log
  end

  def sync(_env, _query)
    Sync { |task| [task.equal?(Async::Task.current), sleep(0).class.name] }
  end

  # In a fiber that is no task's.
  def enumerator(_env, _query)
    numbers = Enumerator.new do |to|
      to << Async { sleep(0) && 1 }.wait
      to << 2
    end
    [numbers.next, numbers.next]
  end

  def threads(_env, _query)
    queue = Thread::Queue.new
    thread = Thread.new { queue.push(Thread.new { :value }.value) }
    found = queue.pop
    thread.join
    lock = Mutex.new
    [found, lock.synchronize { Async { lock.locked? }.wait }]
  end

  # Fibers of Ruby's own interface, and Fiber#raise.
  def fibers(_env, _query)
    caught = nil
    fiber = Fiber.schedule do
      sleep
    rescue Spoiled => e
      caught = e.message
    end
    fiber.raise(Spoiled, "in its wait")
    sleep(0)
    [caught, fiber.alive?]
  end

  def verbs(_env, _query)
    limited = begin
      NB.deadline(0.001) { Async::Condition.new.wait }
    rescue NeverBlock::DeadlineExceeded => e
      e.class.name
    end
    all = NB.all(-> { sleep(0) && 1 }, -> { Async { sleep(0) && 2 }.wait },
                 -> { Async::Task.current.class.name })
    [all, NB.offload { Thread.current.equal?(Thread.main) }, limited]
  end

  def forked(_env, _query)
    reader, writer = IO.pipe
    pid = fork do
      reader.close
      writer.write(JSON.generate([Fiber.scheduler.nil?, Async::Task.current?.nil?, sleep(0)]))
      writer.close
      exit!(0)
    end
    writer.close
    found = JSON.parse(reader.read)
    Process.wait(pid)
    [found, `printf shell`]
  end

  # A child that fails, one whose error is no StandardError, and what goes on beside them.
  def spoiled(_env, query)
    beside = Async::Condition.new
    waiting = Async { beside.wait }
    Async { raise Spoiled, query["tag"] }
    Async do
      sleep(0)
      raise NotImplementedError, "#{query["tag"]} too"
    end
    2.times { sleep(0) }
    beside.signal("beside")
    waiting.wait
  end

  def left_behind(_env, query)
    Async do
      AppEvents.put("waits", query["tag"])
      Async::Condition.new.wait
    ensure
      AppEvents.put("stopped", query["tag"])
    end
    "answered"
  end

  def stream(_env, query)
    parts = Async::Queue.new
    Async do
      %w[one two three].each { |part| parts.enqueue(part) }
      parts.enqueue(nil)
    end
    body = lambda do |stream|
      while (part = parts.dequeue)
        stream.write("#{part} ")
      end
      stream.write(Async { Async::Task.current? ? "in a task" : "" }.wait)
      AppEvents.put("streamed", query["tag"])
    ensure
      stream.close
    end
    [:response, 200, { "content-type" => "text/plain" }, body]
  end

  def large(_env, query)
    [:response, 200, { "content-type" => "text/plain" },
     Enumerator.new { |to| query["count"].to_i.times { to << ("x" * 65_536) } }]
  end

  def upload(env, _query)
    sizes = Async { env["rack.input"].read.bytesize }
    sizes.wait
  end

  def hijack(env, _query)
    io = env["rack.hijack"].call
    Async do
      io.write("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n")
      io.write(io.gets.upcase)
      io.close
    end
    [:response, 200, {}, []]
  end

  def internet(_env, query)
    internet = Async::HTTP::Internet.new
    url = "http://127.0.0.1:#{query["port"]}/meet?count=3&tag=#{query["tag"]}"
    tasks = Array.new(3) { Async { internet.get(url).read } }
    tasks.map { |task| JSON.parse(task.wait) }
  ensure
    internet&.close
  end

  # Computes until the test has written to a FIFO.
  def compute(_env, query)
    done = false
    reader = Thread.new { done = File.read(query["fifo"]) }
    AppEvents.put("computes", query["tag"])
    nil until done
    reader.join
    done
  end

  def process(_env, _query)
    Process.pid
  end

  private

  def json(value)
    [200, { "content-type" => "application/json" }, [JSON.generate(value)]]
  end
end
