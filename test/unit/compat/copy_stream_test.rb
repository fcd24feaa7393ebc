# frozen_string_literal: true

require_relative "../../support/scheduler_harness"
require "io/nonblock"
require "stringio"
require "tmpdir"

# Every IO here is in blocking mode, as standard input and FIFOs are.
class CopyStreamCompatTest < Minitest::Test
  include SchedulerHarness

  def setup
    @reader, @writer = IO.pipe
    [@reader, @writer].each { |io| io.nonblock = false }
  end

  def teardown
    [@reader, @writer].each { |io| io.close unless io.closed? }
  end

  def test_a_fiber_that_copies_from_a_pipe_in_blocking_mode_lets_others_write_into_it
    copied, copying = IO.pipe
    in_scheduler do
      fiber { assert_equal 12, IO.copy_stream(@reader, copying).tap { copying.close } }
      fiber do
        @writer.write("first,")
        sleep(0)
        @writer.tap { @writer.write("second") }.close
      end
    end
    assert_equal "first,second", copied.read
  end

  def test_a_fiber_that_copies_to_a_full_pipe_lets_others_empty_it
    text = "x" * (1 << 20)
    in_scheduler do
      fiber do
        copied = IO.copy_stream(StringIO.new(text), @writer).tap { @writer.close }
        assert_equal text.bytesize, copied
      end
      fiber { assert_equal text, @reader.read }
    end
  end

  def test_what_was_written_before_comes_first_and_nothing_stays_in_the_buffer
    in_scheduler do
      fiber do
        @writer.sync = false
        @writer.write("before,")
        IO.copy_stream(StringIO.new("copied"), @writer)
        assert_equal "before,copied", @reader.readpartial(100)
      end
    end
  end

  def test_what_was_read_ahead_comes_first
    copied = StringIO.new
    in_scheduler do
      fiber do
        @writer.tap { @writer.write("line\nrest") }.close
        assert_equal "line\n", @reader.gets
        IO.copy_stream(@reader, copied)
      end
    end
    assert_equal "rest", copied.string
  end

  def test_bytes_pass_whatever_the_encodings
    bytes = (0..255).map(&:chr).join.b
    @writer.set_encoding("UTF-16LE:UTF-8")
    in_scheduler { fiber { IO.copy_stream(StringIO.new(bytes), @writer).then { @writer.close } } }
    assert_equal bytes, @reader.read.b
  end

  def test_a_length_is_kept
    copied = StringIO.new
    in_scheduler do
      fiber do
        @writer.write("12345678")
        assert_equal 5, IO.copy_stream(@reader, copied, 5)
      end
    end
    assert_equal "12345", copied.string
    assert_equal "678", @reader.readpartial(10)
  end

  def test_files_are_copied_as_ever_with_length_and_offset
    Dir.mktmpdir do |folder|
      from = File.join(folder, "from").tap { |path| File.write(path, "0123456789") }
      to = File.join(folder, "to")
      in_scheduler do
        fiber do
          assert_equal 10, IO.copy_stream(from, to)
          assert_equal 3, File.open(from) { |file| IO.copy_stream(file, to, 3, 2) }
        end
      end
      assert_equal "234", File.read(to)
    end
  end

  def test_outside_of_a_fiber_nothing_is_different
    @writer.tap { @writer.write("text") }.close
    copied = StringIO.new
    assert_equal 4, IO.copy_stream(@reader, copied)
    assert_equal "text", copied.string
  end
end
