# frozen_string_literal: true

require_relative "../support/fake_native"

class LogTest < Minitest::Test
  TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/

  def setup
    @log = FakeNative::Log.new
  end

  def test_a_line_names_its_writer
    @log.info("ready")
    @log.warn("slow")
    assert_match(
      /\Aneverblock: #{TIME} info: ready\nneverblock: #{TIME} warning: slow\n\z/, @log.text
    )
  end

  def test_an_error_is_one_entry_with_its_trace
    @log.error("while testing", raised("boom"))
    lines = @log.text.lines
    assert_match(/\Aneverblock: #{TIME} error: while testing: RuntimeError: boom\n\z/, lines.first)
    assert_match(/\A    .*log_test\.rb:\d+/, lines[1])
    assert(lines.drop(1).all? { |line| line.start_with?("    ") })
  end

  def test_an_error_carries_its_causes
    begin
      begin
        raise IOError, "socket"
      rescue IOError
        raise ArgumentError, "wrapped"
      end
    rescue ArgumentError => e
      @log.error("request", e)
    end
    assert_match(
      /request: ArgumentError: wrapped\n(    .*\n)+  caused by IOError: socket\n(    .*\n)+\z/,
      @log.text
    )
  end

  def test_no_text_from_outside_can_pass_for_an_entry_or_steer_a_terminal
    @log.error("GET /\r\nneverblock: forged", raised("a\nneverblock: forged\e[2J\0"))
    assert_equal 1, @log.text.scan(/^neverblock: /).size
    refute_match(/[\e\0\r]/, @log.text)
    assert_includes @log.text, "\\x1b[2J\\x00"
  end

  def test_text_in_any_encoding_is_taken
    @log.info("caf\xE9".dup.force_encoding("UTF-8"))
    @log.error("é", raised("\xFF".b))
    @log.info("é".encode("UTF-16LE"))
    @log.error("x", raised("ü".encode("UTF-16LE")))
    assert_includes @log.text, "caf\\xe9\n"
    assert_includes @log.text.b, " é: RuntimeError: \\xff\n".b
    assert_includes @log.text.b, " é\n".b
    assert_includes @log.text.b, " x: RuntimeError: ü\n".b
  end

  def test_whatever_is_written_an_entry_is_utf8_without_orders_for_a_terminal
    [*0..255].each { |byte| @log.info("a#{byte.chr}b".b) }
    @log.error("c1 \u009b31m".b, raised("\u0085".b))
    text = @log.text.b.force_encoding(Encoding::UTF_8)
    assert_predicate text, :valid_encoding?
    refute_match(/[\u0080-\u009f]/, text)
    assert_includes text, "c1 \\xc2\\x9b31m: RuntimeError: \\xc2\\x85\n"
  end

  def test_an_exception_without_trace_or_with_a_broken_message_is_logged_too
    broken = Class.new(StandardError) { def message = raise("no") }
    @log.error("x", broken.new)
    assert_match(/\(its message raised RuntimeError\)\n\z/, @log.text)
  end

  def test_a_runaway_trace_is_cut
    error = RuntimeError.new("deep")
    error.set_backtrace(["a.rb:1"] * 10_000)
    @log.error("x", error)
    assert_equal NeverBlock::Log::Trace::LINES_MAX + 2, @log.text.lines.size
    assert_equal "    ... 9850 more\n", @log.text.lines.last
  end

  private

  def raised(message)
    raise message
  rescue RuntimeError => e
    e
  end
end
