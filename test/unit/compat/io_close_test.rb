# frozen_string_literal: true

require_relative "../../support/scheduler_harness"
require "open3"
require "socket"
require "tempfile"

# IO#close in a fiber of Ruby 3.4, which offers close(2) to other threads. What else closes a
# descriptor under fibers that wait for it.
class CompatIOCloseTest < Minitest::Test
  include SchedulerHarness

  def test_pipes_and_sockets_close_at_once_and_files_and_lingering_sockets_may_not
    IO.pipe { |reader, writer| assert_equal [true, true], at_once(reader, writer) }
    UNIXSocket.pair.each { |socket| assert_equal [true], at_once(socket) }
    TCPServer.open("127.0.0.1", 0) { |server| assert_equal [true], at_once(server) }
    Tempfile.create { |file| assert_equal [false], at_once(file) }
    assert_equal [false, true, true],
                 [[true, 5], [true, 0], [false, 5]].map { |on, seconds| lingering(on, seconds) }
  end

  def test_a_closed_io_is_none_that_closes_at_once
    reader, writer = IO.pipe
    [reader, writer].each(&:close)
    assert_equal [false, false], at_once(reader, writer)
  end

  def test_what_closes_at_once_goes_to_no_thread
    in_fiber do
      assert_equal 0, offloaded { IO.pipe.each(&:close) }
      assert_equal 0, offloaded { IO.pipe { nil } }
      assert_equal 0, offloaded { UNIXSocket.pair.each(&:close) }
    end
  end

  def test_a_file_that_was_written_is_closed_by_a_thread_on_ruby_34
    skip "blocking_operation_wait is Ruby 3.4's" if RUBY_VERSION < "3.4"

    NeverBlock::Blockers.forget
    Tempfile.create { |file| assert_equal 1, in_fiber { offloaded { file.close } } }
  end

  # Bytes that were buffered go out first, and waiting for their room parks.
  def test_a_pipe_that_is_full_is_flushed_before_it_is_closed_and_parks_its_fiber
    seen = nil
    in_scheduler do
      reader, writer = IO.pipe
      writer.write_nonblock("a" * 65_536)
      writer.sync = false
      fiber { writer.write("b") && writer.close }
      fiber { seen = reader.read }
    end
    assert_equal [65_537, "b"], [seen.size, seen[-1]]
  end

  # At the wall of memory maps, say.
  def test_without_a_thread_to_be_had_files_are_opened_and_closed_all_the_same
    ruby = [RbConfig.ruby, "-W0", *$LOAD_PATH.map { |path| "-I#{path}" }]
    out, err, = Open3.capture3("timeout", SECONDS.to_s, *ruby, "-e", <<~RUBY)
      require "neverblock"
      require "neverblock/verbs/offload"
      NeverBlock::Offload::Worker.define_singleton_method(:hire) do |*|
        raise ThreadError, "can't create Thread"
      end
      NB.run do
        puts File.stat(#{__FILE__.inspect}).size
        File.open(#{__FILE__.inspect}, "r+") { |file| puts file.gets }
        begin
          NB.offload { 1 }
        rescue ThreadError => e
          puts e.class, e.message
        end
      end
    RUBY
    assert_equal "#{File.size(__FILE__)}\n# frozen_string_literal: true\n" \
                 "NeverBlock::Offload::NoWorker\ncan't create Thread\n", out
    assert_empty err
  end

  PIPE = -> { IO.pipe }
  PAIR = -> { UNIXSocket.pair }
  DUPLEX = -> { [IO.popen("cat >&2", "r+")] }

  # What a fiber does that waits, and what ends that.
  CLOSED = {
    "close_read_of_a_pipe" => [PIPE, ->(r, _) { r.read(1) }, ->(r, _) { r.close_read }],
    "close_write_of_a_pipe" => [PIPE, ->(_, w) { fill(w) }, ->(_, w) { w.close_write }],
    "close_write_of_a_duplex_pipe" =>
      [-> { [IO.popen("exec sleep 60", "r+")] }, ->(io) { fill(io) },
       ->(io) { io.close_write || Process.kill(:KILL, io.pid) && io.close }],
    "close_read_of_a_duplex_pipe" =>
      [DUPLEX, ->(io) { io.read(1) }, ->(io) { io.close_read || io.close_write }],
    "close_read_of_the_last_half_of_a_socket" =>
      [PAIR, ->(a, _) { a.close_write || a.read(1) }, ->(a, _) { a.close_read }],
    "close_write_of_the_last_half_of_a_socket" =>
      [PAIR, ->(a, _) { a.close_read || fill(a) }, ->(a, _) { a.close_write }],
    "reopen" => [-> { IO.pipe + IO.pipe }, ->(r, *) { r.read(1) }, ->(r, _, o, _) { r.reopen(o) }]
  }.freeze

  CLOSED.each do |name, (make, wait, close)|
    define_method("test_#{name}_ends_the_waits_for_it") do
      assert_equal IOError, ended(make.call, wait, close)
    end

    define_method("test_#{name}_by_a_thread_ends_the_waits_for_it") do
      assert_equal IOError,
                   ended(make.call, wait, ->(*ios) { Thread.new { close.call(*ios) }.join })
    end
  end

  def test_a_half_of_a_socket_that_is_shut_down_ends_the_read_with_the_end
    assert_nil ended(UNIXSocket.pair, ->(a, _) { a.read(1) }, ->(a, _) { a.close_read })
  end

  def test_an_io_that_is_reopened_by_a_path_is_read_on_from_there
    Tempfile.create do |file|
      assert_equal "f", ended([*IO.pipe, file.tap { |f| f.write("f") && f.flush }],
                              ->(r, *) { r.read(1) }, ->(r, _, f) { r.reopen(f.path) })
    end
  end

  # @return what Ruby raises for a refused call; who waits for the IO waits on
  def test_a_close_or_reopen_that_ruby_refuses_ends_no_wait
    refused = lambda do |r, w, closed|
      closed.close
      [-> { r.close_write }, -> { r.reopen(closed) }, -> { r.reopen("/no/such/file") },
       -> { r.reopen }].each do |call|
        assert_raises(IOError, SystemCallError, ArgumentError, &call)
      end
      w << "x"
    end
    assert_equal "x", ended([*IO.pipe, IO.pipe.first], ->(r, *) { r.read(1) }, refused)
  end

  def self.fill(io)
    nil while io.write("a" * 65_536)
  end

  private

  # What the wait returned, or the class of what it raised, once the call has been made meanwhile.
  def ended(ios, wait, call)
    seen = :nothing
    in_scheduler do
      fiber do
        seen = wait.call(*ios)
      rescue SystemCallError, IOError => e
        seen = e.class
      end
      fiber { sleep(0) && call.call(*ios) }
    end
    seen
  end

  def at_once(*ios) = ios.map { |io| NeverBlock::Scheduler.closes_at_once?(io) }

  def lingering(on, seconds)
    TCPServer.open("127.0.0.1", 0) do |server|
      server.setsockopt(Socket::Option.linger(on, seconds))
      at_once(server).first
    end
  end

  def in_fiber(&block)
    value = nil
    in_scheduler { fiber { value = block.call } }
    value
  end

  # How often the block asks for another thread.
  def offloaded
    times = 0
    counted = ->(*, **, &work) { (times += 1) && NeverBlock::Compat.blocking(&work) }
    NeverBlock.stub(:offload, counted) { yield }
    times
  end
end
