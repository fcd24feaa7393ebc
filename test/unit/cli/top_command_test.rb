# frozen_string_literal: true

require_relative "../../support/unit"
require_relative "../../support/figures"
require "neverblock/cli/commands"
require "neverblock/cli/top"
require "stringio"

# `neverblock top` into a pipe: a server of figures answers, and a number of readings ends it.
class TopCommandTest < Minitest::Test
  CLI = NeverBlock::CLI
  ENDED = { "INT" => 0, "TERM" => 143, "HUP" => 129 }.freeze

  def top(*words, out: StringIO.new, &answering)
    answering ||= ->(_number) { Figures.answer(JSON.generate(Figures.document)) }
    @server = Figures::Server.open(&answering)
    before = Signal.trap("TERM", "DEFAULT")
    @status = CLI::Top.new(["--admin", @server.url, "--interval", "0.1", *words],
                           env: {}, out: out, input: StringIO.new).run
    assert_equal "DEFAULT", Signal.trap("TERM", before), "the handler was not given back"
    out.string if out.is_a?(StringIO)
  ensure
    @server.close
  end

  def test_one_line_is_written_for_each_reading
    lines = top("-n", "2").lines
    assert_equal 2, lines.size
    lines.each { |line| assert_match(/\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ .*running/, line) }
    assert_equal CLI::OK, @status
  end

  def test_json_has_both_documents_of_each_reading
    said = top("--json", "-n", "2") do |number|
      Figures.answer(JSON.generate(number.even? ? Figures.document : Figures::FIBERS))
    end
    documents = said.lines.map { |line| JSON.parse(line) }
    assert_equal 2, documents.size
    documents.each do |document|
      assert_equal %w[time status fibers], document.keys
      assert_equal [4711, "a1"],
                   [document["status"]["pid"], document["fibers"]["fibers"].first["id"]]
    end
  end

  def test_a_server_that_is_not_there_at_first_is_an_error
    error = assert_raises(NeverBlock::Error) { top { "HTTP/1.1 404 No\r\n\r\n" } }
    assert_match(/is not an admin address of NeverBlock/, error.message)
  end

  def test_one_that_goes_away_later_is_told_in_its_line
    lines = top("-n", "2") do |number|
      number.zero? ? Figures.answer(JSON.generate(Figures.document)) : "HTTP/1.1 404 No\r\n\r\n"
    end.lines
    assert_match(/running/, lines.first)
    assert_match(/is not an admin address of NeverBlock/, lines.last)
  end

  def test_json_ends_with_the_server
    assert_raises(NeverBlock::Error) do
      top("--json", "-n", "2") do |number|
        next "HTTP/1.1 404 No\r\n\r\n" if number > 1

        Figures.answer(JSON.generate(number.even? ? Figures.document : Figures::FIBERS))
      end
    end
  end

  def test_a_reader_that_has_closed_the_pipe_ends_it_cleanly
    reader, writer = IO.pipe
    reader.close
    top(out: writer)
    assert_equal CLI::OK, @status
  ensure
    writer.close
  end

  def test_a_signal_ends_it_as_shells_report_it
    ENDED.each { |name, number| assert_equal number, top_until(name), name }
  end

  # Runs without an end, and sends the signal after its first line.
  def top_until(name)
    reader, writer = IO.pipe
    sender = Thread.new do
      reader.gets
      Process.kill(name, Process.pid)
    end
    top(out: writer)
    @status
  ensure
    sender.join
    [reader, writer].each(&:close)
  end

  def test_help_asks_nobody
    out = StringIO.new
    assert_equal CLI::OK, CLI::Top.new(["--help"], out: out).run
    assert_match(/\AUsage: neverblock top/, out.string)
  end
end
