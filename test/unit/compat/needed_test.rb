# frozen_string_literal: true

require_relative "../../support/unit"
require_relative "../../support/patience"
require "open3"
require "rbconfig"
require "timeout"

# Proves that each file of compat/ is needed. A script that runs with the whole of compat/ does what
# it should. The same script without that one file does not.
# A file that is loaded on every Ruby may not be needed by the one that runs this test.
# The fault of such a file is on the Rubies that its entry names.
class CompatNeededTest < Minitest::Test
  # A script prints "right" when the fault is not seen.
  # A wrong line, an error, a crash or a hang without the file is the fault's.
  ALL = ("3.1".."9")
  HANGS_S = 2

  # The scheduler as ever, but for the one file.
  PRELUDE = <<~RUBY
    require "timeout"
    require "io/wait"
    if (without = ARGV.first)
      $LOADED_FEATURES << File.expand_path("neverblock/compat/\#{without}.rb", ENV.fetch("NB_LIB"))
    end
    if ARGV.first == "tcp_fast_fallback"
      module NeverBlock
        module Compat
          module TcpFastFallback
            def self.apply_once = nil
          end
        end
      end
    end
    require "neverblock/scheduler"
    def scheduled
      Thread.new { Fiber.set_scheduler(NeverBlock::Scheduler.new); yield; Fiber.scheduler.run }.join
    end
    def right(truth) = puts(truth ? "right" : "wrong")
  RUBY

  def self.fault(file, rubies, script)
    name = file.tr("/", "_")
    define_method("test_#{name}_does_what_it_is_for") do
      assert_equal ["right"], run_script(script, without: nil, seconds: Patience::SECONDS)
    end
    define_method("test_#{name}_is_needed") do
      skip "Ruby #{RUBY_VERSION} has not this fault" unless rubies.cover?(RUBY_VERSION)
      refute_equal ["right"], run_script(script, without: file, seconds: HANGS_S)
    end
  end

  fault "fiber_raise", ALL, <<~RUBY
    told = Queue.new
    scheduled do
      a = Fiber.schedule { (sleep rescue nil) || told.pop }
      Fiber.schedule { a.raise("x"); told << true }
    end
    right told.empty?
  RUBY

  fault "fiber_new", ALL, <<~RUBY
    order = []
    scheduled do
      Fiber.schedule { Fiber.new(blocking: true) { sleep(0.01) }.resume; order << :slow }
      Fiber.schedule { order << :quick }
    end
    right order == %i[quick slow]
  RUBY

  fault "set_scheduler", ALL, <<~RUBY
    scheduled do
      Fiber.schedule { sleep }
      Fiber.schedule do
        Fiber.set_scheduler(NeverBlock::Scheduler.new)
      rescue StandardError
        ($stdout << "right\n").flush && exit!(0)
      end
    end
  RUBY

  fault "io_close", ALL, <<~RUBY
    ended = false
    scheduled do
      r, w = IO.pipe
      Fiber.schedule { r.wait_readable rescue ended = $!.class == IOError }
      Fiber.schedule { r.close }
    end
    right ended
  RUBY

  fault "service_names", ALL, <<~RUBY
    require "socket"
    port = nil
    scheduled { Fiber.schedule { port = Addrinfo.tcp("127.0.0.1", "+80").ip_port } }
    right port == 80
  RUBY

  fault "fork", ALL, <<~RUBY
    r, w = IO.pipe
    ended = Queue.new
    scheduled do
      Fiber.schedule { ended.pop; w.write("p") }
      Fiber.schedule do
        pid = fork { w.write(Fiber.scheduler ? "s" : "c") }
        ended << Process.wait(pid)
      end
    end
    w.close
    right r.read == "cp"
  RUBY

  fault "flock", ALL, <<~RUBY
    order = []
    r, w = IO.pipe
    first, second = File.open("."), File.open(".")
    first.flock(File::LOCK_EX)
    scheduled do
      Fiber.schedule { r.getc; order << :first; first.flock(File::LOCK_UN) }
      Fiber.schedule { second.flock(File::LOCK_EX); order << :second }
      Fiber.schedule { sleep 0.05; w << "x" }
    end
    right order == %i[first second]
  RUBY

  fault "chdir", ALL, <<~RUBY
    require "tmpdir"
    folder = Dir.pwd
    first, second, over = Array.new(3) { Queue.new }
    Dir.mktmpdir do |other|
      scheduled do
        Fiber.schedule { Dir.chdir("/") { first << true && second.pop }; over << true }
        Fiber.schedule do
          first.pop
          Dir.chdir(other) { second << true && over.pop } rescue second << true
        end
      end
      right Dir.pwd == folder
    end
  RUBY

  # Ruby 3.4 has a fault of its own there, which shows only when its worker comes before the writer.
  fault "copy_stream", ("3.1"..."3.4"), <<~RUBY
    require "io/nonblock"
    r, w = IO.pipe
    taken, into = IO.pipe
    r.nonblock = false
    scheduled do
      Fiber.schedule { IO.copy_stream(r, into) }
      Fiber.schedule { sleep 0.05; w << "x"; w.close }
    end
    right taken.read_nonblock(9) == "x"
  RUBY

  fault "io_select", ("3.1"..."3.2"), <<~RUBY
    order = []
    scheduled do
      r, w = IO.pipe
      Fiber.schedule { IO.select([r], nil, nil, 1) && order << :selected }
      Fiber.schedule { order << :other; w.write("x") }
    end
    right order == %i[other selected]
  RUBY

  fault "require", ("3.1"..."3.2"), <<~RUBY
    require "tmpdir"
    Dir.mktmpdir do |dir|
      File.write(File.join(dir, "a.rb"), "sleep 0.01; A = 5")
      File.write(File.join(dir, "b.rb"), "sleep 0.01; B = 5")
      Object.autoload(:A, File.join(dir, "a.rb"))
      seen = []
      scheduled do
        3.times { Fiber.schedule { seen << A } }
        3.times { Fiber.schedule { seen << require(File.join(dir, "b.rb")) } }
      end
      right seen.tally == { 5 => 3, true => 1, false => 2 }
    end
  RUBY

  fault "thread_join", ("3.1"..."3.2.3"), <<~RUBY
    queue = Queue.new
    thread = Thread.new { queue.pop }
    seen = false
    scheduled { Fiber.schedule { seen = thread.join(0.01).nil? } }
    right seen
  RUBY

  # Ruby 3.4 has mended the first half; a second exception comes while the mutex is waited for.
  fault "mutex_sleep", ALL, <<~RUBY
    mutex, condition, owned = Mutex.new, ConditionVariable.new, nil
    waiter = nil
    scheduled do
      waiter = Fiber.schedule do
        mutex.synchronize do
          condition.wait(mutex)
        ensure
          owned = mutex.owned?
        end
      rescue StandardError
        nil
      end
      Fiber.schedule do
        mutex.synchronize do
          waiter.raise("one")
          sleep(0.01)
          waiter.raise("two")
          sleep(0.01)
        end
      end
    end
    right owned
  RUBY

  fault "timeout", ("3.1".."3.4.10"), <<~RUBY
    seen = nil
    scheduled do
      Fiber.schedule do
        Timeout.timeout(0.01) do
          sleep
        rescue StandardError
          seen = :swallowed
        end
      rescue Timeout::Error
        seen = :ended
      end
    end
    right seen == :ended
  RUBY

  fault "enumerator", ("3.1"..."3.3"), <<~RUBY
    order = []
    scheduled do
      queue = Queue.new
      Fiber.schedule { order << Enumerator.new { |out| out << queue.pop }.next }
      Fiber.schedule { order << :push; queue << :popped }
    end
    right order == %i[push popped]
  RUBY

  # Ruby's own lookup does not ask the scheduler.
  fault "tcp_fast_fallback", ("3.4".."9"), <<~RUBY
    require "socket"
    asked = nil
    NeverBlock::Scheduler.prepend(Module.new do
      define_method(:address_resolve) { |name| super(asked = name) }
    end)
    server = TCPServer.new("127.0.0.1", 0)
    port = server.local_address.ip_port
    scheduled { Fiber.schedule { TCPSocket.new("localhost", port) } }
    server.close
    right asked == "localhost"
  RUBY

  fault "fiber_kill", ("3.3".."9"), <<~RUBY
    (right(true); exit) unless Fiber.method_defined?(:kill)
    done = []
    scheduled do
      killed = Fiber.schedule { begin; sleep; ensure; sleep(0.001); done << :ensured; end }
      Fiber.schedule { killed.kill; done << :killer }
    end
    right done == %i[killer ensured]
  RUBY

  fault "sysread", ALL, <<~RUBY
    read = nil
    scheduled do
      r, w = IO.pipe
      Fiber.schedule { read = r.sysread(9) }
      Fiber.schedule { w << "x" }
    end
    right read == "x"
  RUBY

  fault "pwrite", ("3.3".."9"), <<~RUBY
    require "tempfile"
    file = Tempfile.new
    scheduled { 100.times { Fiber.schedule { file.pwrite("x", 0) } } }
    right file.read == "x"
  RUBY

  # The hook takes longer than a slice of time. The loop's thread therefore runs in the middle of
  # the walk, and those who are next to be woken leave. Without the file the hook waits for that.
  # Before 3.3 the walk is the same, but the memory of those who left is still there.
  fault "queue_close", ("3.3".."9"), <<~RUBY
    parked = Queue.new
    queue = Queue.new
    ended = 0
    NeverBlock::Scheduler.prepend(Module.new do
      define_method(:unblock) do |blocker, fiber|
        super(blocker, fiber)
        until_s = Process.clock_gettime(Process::CLOCK_MONOTONIC) + (ARGV.first ? 20 : 0.25)
        nil while blocker.equal?(queue) && ended.zero? &&
                  (@slow ||= until_s) > Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end
    end)
    scheduler = Thread.new do
      scheduled do
        fibers = Array.new(300) do
          Fiber.schedule do
            queue.pop
          rescue IndexError
            nil
          ensure
            ended += 1
          end
        end
        Fiber.schedule do
          sleep(0.01)
          parked << true
          sleep(0.05)
          fibers.reverse_each { |fiber| fiber.raise(IndexError) rescue nil }
        end
      end
    end
    parked.pop
    queue.close
    scheduler.join
    right ended == 300
  RUBY

  # A race that takes a thread switch at one place of Ruby's.
  # The soak sees it within a minute, but not every run does.
  def test_a_broadcast_wakes_all_who_wait
    assert_equal ["right"], run_script(<<~RUBY, without: nil, seconds: Patience::SECONDS)
      mutex, condition, woken = Mutex.new, ConditionVariable.new, 0
      scheduled do
        5.times { Fiber.schedule { mutex.synchronize { condition.wait(mutex); woken += 1 } } }
        Fiber.schedule { condition.broadcast; condition.broadcast }
      end
      right woken == 5
    RUBY
  end

  def test_what_is_loaded_for_ruby_is_in_the_table
    text = File.read(File.expand_path("../../../lib/neverblock/compat/ruby.rb", __dir__))
    table = text.scan(/^#   (\w+) +(?:all|before|3)/).flatten
    loaded = text.scan(%r{^require "neverblock/compat/(\w+)"}).flatten
    assert_equal loaded.sort, (table + %w[late_libraries libraries]).sort
    compat = File.expand_path("../../../lib/neverblock/compat", __dir__)
    table.each { |file| assert_path_exists File.join(compat, "#{file}.rb") }
  end

  private

  def run_script(script, without:, seconds:)
    library = File.expand_path("../../../lib", __dir__)
    # Ruby's own libraries: a newer one, in the bundle or installed, may have lost the fault.
    env = {
      "NB_LIB" => library, "RUBYOPT" => nil, "RUBYLIB" => nil,
      "GEM_HOME" => File::NULL, "GEM_PATH" => File::NULL
    }
    ruby = [RbConfig.ruby, "-W0", "-I#{library}", "-e", PRELUDE + script, *without]
    out, = Open3.capture2e(env, "timeout", "-s", "KILL", seconds.to_s, *ruby)
    out.lines(chomp: true).first(3)
  end
end
