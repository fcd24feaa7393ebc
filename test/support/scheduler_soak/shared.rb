# frozen_string_literal: true

class SchedulerSoak
  # The queues, locks and the server all fibers use, and the threads without a scheduler that keep
  # them moving.
  class Shared
    FEED_S = 0.0005

    attr_reader :queue, :sized, :mutexes, :monitors, :condition_mutex, :condition, :inside, :port,
                :fibers

    def initialize(books)
      @books = books
      @queue = Queue.new
      @sized = SizedQueue.new(4)
      @mutexes = Array.new(8) { Mutex.new }
      # With their conditions. Ruby's locks are not fair: many fibers at one would starve some of
      # them.
      @monitors = Array.new(12) { Monitor.new }.to_h { |monitor| [monitor, monitor.new_cond] }
      @condition_mutex = Mutex.new
      @condition = ConditionVariable.new
      @inside = {}.compare_by_identity
      @server = TCPServer.new("127.0.0.1", 0)
      @port = @server.addr[1]
      @fibers = []
      @living = 0
    end

    # Called for each fiber that will use this; the last to leave ends the rest.
    def enter
      @living += 1
    end

    def leave
      @server.close if (@living -= 1).zero?
    end

    # In a fiber of each loop, until the server is closed under it.
    def accept
      loop do
        client = @server.accept
        @books.fiber { answer(client) }
      end
    rescue IOError
      nil
    end

    # No pop and no push waits for ever, and every lock is also taken by a thread.
    def start_helpers
      [@queue, @sized].map do |queue|
        Thread.new do
          until @finished
            keep_moving(queue)
            @mutexes.sample.synchronize { Thread.pass }
            @condition.broadcast
            sleep(FEED_S)
          end
        end
      end
    end

    def finish(helpers)
      @finished = true
      helpers.each(&:join)
      [@queue, @sized].each { |queue| @books.popped(queue.pop(true)) until queue.empty? }
    end

    private

    def keep_moving(queue)
      return if queue.num_waiting.zero?

      queue.equal?(@sized) && queue.size == queue.max ? take(queue) : give(queue, @books.new_token)
    end

    def give(queue, token)
      queue.equal?(@sized) ? queue.push(token, true) : queue.push(token)
    rescue ThreadError # a fiber was faster
      @books.unpushed(token)
    end

    def take(queue)
      @books.popped(queue.pop(true))
    rescue ThreadError # a fiber was faster
      nil
    end

    def answer(client)
      client.write(client.readpartial(100))
      client.read
    rescue SystemCallError, EOFError
      nil
    ensure
      client.close
    end
  end
end
