# frozen_string_literal: true

# FFI.errno of the gem ffi is the fiber's own (compat/ffi.rb). test/gems/uses/ffi.rb asks a server.

require "ffi"
require_relative "../../support/timeslices"

class FfiCompatTest < Minitest::Test
  include Timeslices

  # Functions that fail, each with its own error.
  module LibC
    extend FFI::Library

    ffi_lib FFI::Library::LIBC
    attach_function :close, [:int], :int
    attach_function :rmdir, [:string], :int
  end

  def test_a_wait_keeps_it
    assert_own { sleep(0) }
  end

  def test_a_wait_that_ends_by_an_exception_keeps_it
    assert_own { assert_raises(Timeout::Error) { Timeout.timeout(0.001) { sleep } } }
  end

  def test_the_end_of_a_time_slice_keeps_it
    assert_own { be_preempted }
  end

  def test_a_fiber_that_starts_another_keeps_it
    in_scheduler do
      2.times do
        bad_descriptor
        fiber { no_folder }
        assert_equal Errno::EBADF::Errno, FFI.errno
      end
      fiber do
        bad_descriptor
        fiber { no_folder }
        assert_equal Errno::EBADF::Errno, FFI.errno
      end
    end
  end

  # As on a thread: both are one request's.
  def test_an_enumerator_shares_it_with_the_fiber_that_uses_it
    in_scheduler do
      fiber do
        one = Enumerator.new { |out| no_folder && sleep(0) && out << 1 }
        bad_descriptor
        one.next
        assert_equal Errno::ENOENT::Errno, FFI.errno
      end
      fiber { bad_descriptor && sleep(0) }
    end
  end

  # The method that reads FFI.errno may let another thread run, here the one that ends the wait.
  def test_a_wait_that_is_ended_while_the_errno_is_read_is_over
    queue = Queue.new
    reader = errno_reader { Thread.new { queue << :there } && (Thread.pass while queue.empty?) }
    NeverBlock::Scheduler.watch_ffi(reader, library)
    in_scheduler { fiber { assert_equal :there, queue.pop } }
  ensure
    NeverBlock::Scheduler.watch_ffi(FFI::LastError, library)
  end

  def test_it_is_installed_once_and_only_with_the_library
    NeverBlock::Compat::FFI.apply
    assert NeverBlock::Compat::FFI.instance_variable_get(:@applied)
    refute NeverBlock::Scheduler.watch_ffi(FFI::LastError, "/nonexistent/ffi_c.so")
    other = $LOADED_FEATURES.grep(/neverblock\.so/).first
    refute NeverBlock::Scheduler.watch_ffi(FFI::LastError, other)
    assert_own { sleep(0) }
  end

  private

  def library = $LOADED_FEATURES.grep(NeverBlock::Compat::FFI::LIBRARY).first

  # In the place of FFI::LastError. The first time it is asked it calls the block before it answers.
  def errno_reader(&before)
    Module.new.tap do |reader|
      reader.define_singleton_method(:error) do
        once, before = before, nil
        once&.call
        0
      end
    end
  end

  # @yield lets the other fiber make its call
  def assert_own(&leaves)
    seen = Hash.new { |all, name| all[name] = [] }
    in_timeslices do
      %i[bad_descriptor no_folder].each do |name|
        fiber do
          sleep(0)
          3.times do
            send(name)
            instance_exec(&leaves)
            seen[name] << FFI.errno
          end
        end
      end
    end
    expected = { bad_descriptor: Errno::EBADF::Errno, no_folder: Errno::ENOENT::Errno }
    assert_equal(expected.transform_values { |error| [error] * 3 }, seen)
  end

  def bad_descriptor = LibC.close(-1)
  def no_folder = LibC.rmdir("/nonexistent")
end
