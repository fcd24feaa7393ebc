# frozen_string_literal: true

require_relative "../../support/fake_native"
require "neverblock/rack/error_stream"
require "logger"

# env["rack.errors"] (Rack SPEC, "The Error Stream": puts, write and flush).
class ErrorStreamTest < Minitest::Test
  def setup
    @log = FakeNative::Log.new
    @stream = NeverBlock::ErrorStream.new(@log)
  end

  def test_write_gives_bytes_as_they_are_and_their_number
    assert_equal 3, @stream.write("é\n")
    assert_equal 2, @stream.write(1, :a)
    assert_equal 0, @stream.write("")
    assert_equal "é\n1a", @log.text
  end

  # As $stderr.puts would.
  PUTS = {
    [] => "\n",
    ["a"] => "a\n",
    ["a\n"] => "a\n",
    ["a", "b"] => "a\nb\n",
    [["a", ["b"]], 3] => "a\nb\n3\n",
    [nil] => "\n",
    [[]] => "\n",
    [""] => "\n"
  }.freeze

  PUTS.each do |arguments, text|
    define_method("test_puts with #{arguments.inspect} writes #{text.inspect}") do
      assert_nil @stream.puts(*arguments)
      assert_equal text, @log.text
    end
  end

  def test_flush_waits_for_nothing
    assert_same @stream, @stream.flush
    refute @log.flushed
  end

  def test_a_logger_can_be_made_of_it
    Logger.new(@stream, formatter: ->(level, _time, _name, text) { "#{level} #{text}\n" }).warn("x")
    assert_equal "WARN x\n", @log.text
  end

  def test_encodings_that_do_not_go_together_are_joined_as_bytes
    @stream.puts("é", "\xFF".b, "é".encode("ISO-8859-1"))
    assert_equal "é\n".b + "\xFF\n\xE9\n".b, @log.text.b
  end

  def test_lines_in_utf16_are_written_as_utf8
    @stream.puts("é".encode("UTF-16LE"), "b\n".encode("UTF-16BE"), "c")
    assert_equal "é\nb\nc\n".b, @log.text.b
    @stream.puts("\xD8".b.force_encoding("UTF-16BE"))
    assert_includes @log.text.b, "\xD8\n".b
  end

  def test_print_printf_and_append_write_too
    @stream << "a" << "b"
    @stream.print("c", 1)
    @stream.printf("%03d", 7)
    assert_equal "abc1007", @log.text
    assert_predicate @stream, :sync
    refute_predicate @stream, :tty?
  end
end
