# frozen_string_literal: true

require_relative "../../support/scheduler_harness"
require "tempfile"

# Tests files: io_pread, io_pwrite, and io_read of pages that are not in memory. Another fiber that
# runs meanwhile shows that a fiber parks. IO#advise puts the pages of a file out of memory; a file
# system that lies in memory ignores it.
class SchedulerFileIOTest < Minitest::Test
  include SchedulerHarness

  BYTES = 700_000 # more than two of the parts a native thread moves at once
  ROUTED = RUBY_VERSION >= "3.3" # IO#pread and IO#pwrite call the hooks; before, IO::Buffer's do

  def setup
    @file = Tempfile.new("file_io", File.expand_path("../../../tmp", __dir__), binmode: true)
    @content = Random.new(7).bytes(BYTES)
    @file.write(@content)
    @file.flush
  end

  def teardown
    @file.close!
  end

  def test_pread_gives_what_ruby_gives
    cold
    in_scheduler do
      fiber do
        [[BYTES, 0], [10, 5], [BYTES, BYTES - 3], [300_000, 1], [0, 0]].each do |length, from|
          assert_equal @content.byteslice(from, length), @file.pread(length, from)
          assert_equal length.zero? ? "" : @content.byteslice(from, length),
                       by_hook(:io_pread, length, from)
        end
        assert_raises(EOFError) { @file.pread(1, BYTES) }
        assert_equal "", by_hook(:io_pread, 1, BYTES)
      end
    end
  end

  def test_pwrite_writes_all_and_where_it_is_told
    in_scheduler do
      fiber do
        more = Random.new(8).bytes(BYTES)
        assert_equal BYTES, @file.pwrite(more, 100)
        assert_equal @content.byteslice(0, 100) + more, File.binread(@file.path)
        assert_equal BYTES, hook(:io_pwrite, IO::Buffer.for(@content), BYTES, 0)
        assert_equal @content + more.byteslice(-100, 100), File.binread(@file.path)
      end
    end
  end

  def test_errors_are_negative_errnos_of_the_hook_and_exceptions_of_the_method
    in_scheduler do
      fiber do
        pipe = IO.pipe
        assert_equal(-Errno::ESPIPE::Errno, hook(:io_pread, IO::Buffer.new(5), 5, 0, pipe.first))
        assert_raises(Errno::ESPIPE) { pipe.first.pread(5, 0) }
        File.open(@file.path) do |f|
          assert_equal(-Errno::EBADF::Errno, hook(:io_pwrite, IO::Buffer.for("x"), 1, 0, f))
        end
        assert_raises(ArgumentError) { hook(:io_pread, IO::Buffer.new(5), 6, 0) }
      end
    end
  end

  def test_a_fiber_that_reads_pages_from_disk_lets_others_run
    skip "#{File.dirname(@file.path)} lies in memory" if memory_file_system?
    assert_parks { |cold| cold.call and assert_equal(@content, by_hook(:io_pread, BYTES, 0)) }
    assert_parks { |cold| cold.call and assert_equal(@content, @file.pread(BYTES, 0)) } if ROUTED
    assert_parks { |cold| cold.call and assert_equal(@content, File.binread(@file.path)) }
    assert_parks do |cold|
      cold.call and File.open(@file.path, "rb") do |f|
        assert_equal @content.byteslice(0, 50_000), f.readpartial(50_000)
      end
    end
  end

  def test_a_fiber_that_writes_by_pwrite_lets_others_run_unless_the_kernel_need_not_wait
    skip "#{File.dirname(@file.path)} lies in memory" if memory_file_system?
    assert_parks { hook(:io_pwrite, IO::Buffer.for(@content), BYTES, 0) }
  end

  def test_the_position_stays_after_pread_and_moves_by_what_read_gave
    in_scheduler do
      fiber do
        File.open(@file.path, "rb") do |f|
          cold
          f.pread(100, 50)
          assert_equal @content.byteslice(0, 10), f.sysread(10)
          cold
          assert_equal @content.byteslice(10, 300_000), f.read(300_000)
          assert_equal 300_010, f.pos
        end
      end
    end
  end

  def test_many_fibers_read_parts_of_one_cold_file
    cold
    done = 0
    in_scheduler do
      200.times do |i|
        fiber do
          from = i * 3000
          assert_equal @content.byteslice(from, 3000), by_hook(:io_pread, 3000, from)
          done += 1
        end
      end
    end
    assert_equal 200, done
  end

  def test_pages_in_memory_are_read_without_parking
    File.binread(@file.path)
    turns = 0
    in_scheduler do
      fiber { (turns += 1) && sleep(0) until turns > 100 }
      fiber do
        before = turns
        assert_equal @content, by_hook(:io_pread, BYTES, 0)
        assert_equal before, turns
      end
    end
  end

  # Its memory is looked up again after the wait.
  def test_a_buffer_that_is_freed_meanwhile_is_an_error_and_no_write_into_it
    in_scheduler do
      buffer = IO::Buffer.new(BYTES)
      began = false
      fiber do
        sleep(0) until began
        buffer.free
      end
      fiber do
        cold
        began = true
        read = hook(:io_pread, buffer, BYTES, 0)
        assert_equal BYTES, read # the kernel had every page
      rescue IO::Buffer::AllocationError, IO::Buffer::AccessError, ArgumentError => e
        refute_nil e
      end
    end
  end

  def test_an_interrupted_transfer_leaves_no_thread_that_uses_the_descriptor
    50.times do |i|
      in_scheduler do
        interrupted = fiber do
          cold
          by_hook(i.even? ? :io_pread : :io_pwrite, BYTES, 0)
        rescue IndexError
          @file.pread(10, 0)
        end
        fiber { Fiber.scheduler.fiber_interrupt(interrupted, IndexError.new) if interrupted.alive? }
      end
    end
  end

  def test_a_file_that_is_closed_under_a_reader_raises_in_it
    closed_under_a_reader { |read| read.call }
  end

  def test_a_file_that_is_closed_under_a_reader_in_a_shield_raises_there
    closed_under_a_reader { |read| Fiber.scheduler.shield(&read).then { sleep(0) } }
  end

  # @yieldparam read [Proc] which ends at the close
  def closed_under_a_reader
    20.times do
      in_scheduler do
        file = File.open(@file.path, "rb")
        cold
        parked = false
        read = lambda do
          parked = true
          hook(:io_pread, IO::Buffer.new(BYTES), BYTES, 0, file)
          parked = false
        rescue IOError => e
          assert_match(/closed/, e.message)
        end
        reader = fiber { yield read }
        fiber { file.close if reader.alive? && parked }
      end
    end
  end

  def test_file_transfers_under_gc_stress
    in_scheduler(2 * SECONDS) do
      fiber do
        cold
        GC.stress = true
        assert_equal @content, by_hook(:io_pread, BYTES, 0)
        hook(:io_pwrite, IO::Buffer.for("xyz"), 3, 0)
        assert_equal "xyz", @file.pread(3, 0)
        cold
        assert_equal 5, File.open(@file.path, "rb") { |f| f.readpartial(5) }.bytesize
      ensure
        GC.stress = false
      end
    end
  end

  def test_a_child_process_has_threads_of_its_own_for_files
    in_scheduler do
      fiber do
        cold
        by_hook(:io_pread, BYTES, 0)
        pid = fork do
          Thread.new do
            Fiber.set_scheduler(NeverBlock::Scheduler.new)
            Fiber.schedule { cold and exit!(by_hook(:io_pread, BYTES, 0) == @content ? 7 : 1) }
          end.join(SECONDS)
          exit!(2)
        end
        assert_equal 7, Process.wait2(pid).last.exitstatus
      end
    end
  end

  private

  # Calls a hook as this Ruby does.
  def hook(name, buffer, length, from, file = @file)
    arguments = RUBY_VERSION < "3.2" ? [length, from] : [from, length, 0]
    Fiber.scheduler.public_send(name, file, buffer, *arguments)
  end

  def by_hook(name, length, from)
    buffer = IO::Buffer.new([length, 1].max)
    moved = hook(name, buffer, length, from)
    buffer.get_string(0, [moved, length].min)
  end

  # Puts the file's pages out of memory.
  def cold
    @file.fsync
    @file.advise(:dontneed)
    true
  end

  def memory_file_system?
    %w[tmpfs ramfs].include?(`stat -f -c %T #{File.dirname(@file.path)}`.chomp)
  end

  # Runs the block in a fiber beside one that counts its turns, and asserts that it had some. The
  # kernel may read ahead, so a few attempts are made.
  def assert_parks(&block)
    turns = 0
    in_scheduler do
      ended = false
      fiber { (turns += 1) && sleep(0) until ended }
      fiber do
        before = turns
        20.times do
          block.call(-> { cold and before = turns and true })
          break if turns > before
        end
        assert_operator turns, :>, before
      ensure
        ended = true
      end
    end
  end
end
