# frozen_string_literal: true

require_relative "binding_case"

# NeverBlock::Log as a Ruby object (core/base/log.h has tests of its own).
class RubyLogTest < BindingCase
  def test_wrong_arguments_raise
    [:x, nil, 7, Object.new, BasicObject.new].each do |wrong|
      assert_raises(TypeError, NoMethodError) { @log.write(wrong) }
    end
    ["2", Object.new, 1 << 40, Float::NAN].each do |wrong|
      assert_raises(TypeError, RangeError, FloatDomainError) { NeverBlock::Log.new(wrong) }
    end
    [-1, 1 << 40, "7", Object.new].each do |wrong|
      assert_raises(ArgumentError, TypeError) { @log.flush(wrong) }
    end
  end

  def test_it_writes_what_can_be_made_a_string_and_any_bytes
    named = Struct.new(:text) { def to_str = text }.new("named\n")
    assert_equal 6, @log.write(named)
    assert_equal 0, @log.write("")
    @log.write("\xff\0\n".b.freeze)
    assert_equal "named\n\xff\0\n".b, logged.b
  end

  def test_a_log_that_was_not_initialized_or_whose_descriptor_is_bad_drops
    [NeverBlock::Log.allocate, NeverBlock::Log.new(-1), NeverBlock::Log.new(1_000_000),
     @log.dup].each do |bad|
      bad.write("lost\n")
      bad.flush(SECONDS * 1000)
      assert_equal 1, bad.dropped
    end
    assert_equal "", logged
  end

  def test_a_child_writes_by_a_writer_of_its_own
    @log.write("parent\n")
    Process.wait(fork { @log.write("child\n") && @log.flush(SECONDS * 1000) && exit!(0) })
    assert_equal %W[child\n parent\n], logged.lines.sort
  end

  def test_logs_are_collected_with_lines_left
    reader, writer = IO.pipe
    50.times { |n| NeverBlock::Log.new(writer.fileno).write("#{n}\n") }
    3.times { GC.start }
    within { sleep(0.001) && GC.start until ObjectSpace.each_object(NeverBlock::Log).count < 20 }
    writer.close
    assert_operator within { reader.readpartial(1000) }.lines.size, :>, 30
  end
end
