# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock"
require "neverblock/executor/report"

# What the log says of a request that has failed, and how the request counts.
class ExecutorReportTest < Minitest::Test
  Log = Struct.new(:entries) do
    %i[info warn error].each do |level|
      define_method(level) { |*words, **fields| entries << [level, *words, fields] }
    end
  end

  class Executor < NeverBlock::Executor
    attr_reader :log

    def initialize(log) # rubocop:disable Lint/MissingSuper -- the native part is not needed
      @log = log
    end

    public :report, :report_stray, :report_fewer, :report_dropped, :report_left_out,
           :report_untold
  end

  ENV_OF_REQUEST = { "REQUEST_METHOD" => "GET", "PATH_INFO" => "/orders",
                     "neverblock.request_id" => "r1" }.freeze

  def setup
    @log = Log.new([])
    @executor = Executor.new(@log)
  end

  def raised(error)
    raise error
  rescue Exception => e # rubocop:disable Lint/RescueException -- given back
    e
  end

  def wrapped(error, as)
    raise error
  rescue Exception # rubocop:disable Lint/RescueException -- it becomes the cause
    raised(as)
  end

  def deadline
    NeverBlock::Deadline::OfRequest.new(2.0, 0.0)
  end

  def test_an_error_of_the_application_is_logged_with_the_request
    error = raised(ArgumentError.new("wrong"))
    assert_nil @executor.report(error, ENV_OF_REQUEST)
    assert_equal [[:error, "GET /orders (r1) failed", error, { request_id: "r1" }]], @log.entries
  end

  def test_one_that_cannot_be_told_is_a_line_without_it
    @executor.report_untold("GET", "/caf\xC3\xA9\e".b, "MyError", "EncodingError")
    line = "GET /café%1B failed: MyError; it cannot be told: that raised EncodingError"
    assert_equal [[:error, line, {}]], @log.entries
  end

  def test_an_error_of_a_client_that_has_left_is_told_in_any_encoding
    error = wrapped(NeverBlock::ClientGone.new("gone"), RuntimeError.new("é".encode("UTF-16LE")))
    @executor.report(error, ENV_OF_REQUEST)
    assert_match(/it ended by RuntimeError: é; at /, @log.entries.first[1])
  end

  def test_one_before_there_was_an_env_is_of_a_request
    @executor.report(raised(ArgumentError.new("wrong")), nil)
    assert_equal [:error, "a request failed"], @log.entries.first.first(2)
  end

  def test_a_client_that_has_left_is_no_entry
    assert_nil @executor.report(raised(NeverBlock::ClientGone.new("gone")), ENV_OF_REQUEST)
    assert_empty @log.entries
  end

  def test_another_error_because_of_it_is_told_with_the_line
    error = wrapped(NeverBlock::ClientGone.new("gone"), ArgumentError.new("wrong"))
    assert_nil @executor.report(error, ENV_OF_REQUEST)
    assert_equal :info, @log.entries.first.first
    assert_match(/its client has left; it ended by ArgumentError: wrong; at .*report_test\.rb:\d+/,
                 @log.entries.first[1])
  end

  def test_a_deadline_that_has_passed_is_one_line
    assert_equal :expired, @executor.report(raised(deadline.exception), ENV_OF_REQUEST)
    level, text, = @log.entries.first
    assert_equal :warn, level
    assert_match(/\AGET \/orders \(r1\): the 2 s that a request has .* are over; at .*:\d+/, text)
  end

  def test_an_error_because_of_the_deadline_is_logged_whole
    error = wrapped(deadline.exception, ArgumentError.new("wrong"))
    assert_equal :expired, @executor.report(error, ENV_OF_REQUEST)
    assert_equal [:error, "GET /orders (r1) failed", error], @log.entries.first.first(3)
  end

  # The line that waited is Ruby's own, as of a gem that reads by Net::HTTP.
  def test_the_application_s_line_is_named_where_a_library_waited
    ruby = "#{RbConfig::CONFIG["rubylibdir"]}/net/protocol.rb:229:in `rbuf_fill'"
    gem = "/x/gems/faraday-2.7.1/lib/faraday.rb:7:in `call'"
    ours = "#{Dir.pwd}/app/report.rb:3:in `call'"
    { [ruby, gem, ours] => ours, [ruby, gem] => gem, [ruby] => nil }.each do |lines, named|
      error = deadline.exception.tap { |one| one.set_backtrace(lines) }
      @log.entries.clear
      @executor.report(error, ENV_OF_REQUEST)
      told = named ? "; at #{named}, in #{ruby}" : "; at #{ruby}"
      assert_operator @log.entries.first[1], :end_with?, told
    end
  end

  # That of a block, which nobody rescues, and what a library makes of a request's.
  def test_an_error_of_a_deadline_has_the_application_s_line_before_its_trace
    ruby = "#{RbConfig::CONFIG["rubylibdir"]}/net/protocol.rb:229:in `rbuf_fill'"
    line = "#{Dir.pwd}/app/report.rb:3:in `call'"
    block = NeverBlock::DeadlineExceeded.new("over")
    request = deadline.exception
    [block, request].each { |error| error.set_backtrace([ruby, line]) }
    [block, wrapped(request, ArgumentError.new("wrong"))].each do |error|
      @log.entries.clear
      @executor.report(error, ENV_OF_REQUEST)
      assert_equal [:error, "GET /orders (r1) failed, waiting at #{line}", error],
                   @log.entries.first.first(3)
    end
  end

  def test_a_deadline_that_passed_before_the_application_was_called_is_no_entry
    late = deadline
    late.unbegun!
    assert_equal :unbegun, @executor.report(raised(late.exception), ENV_OF_REQUEST)
    assert_empty @log.entries
  end

  def test_an_operator_that_has_cancelled_it_is_told
    error = raised(NeverBlock::RequestCancelled.new("cancelled at the admin address"))
    assert_equal :cancelled, @executor.report(error, ENV_OF_REQUEST)
    assert_match(/\AGET \/orders \(r1\): cancelled at the admin address; at /,
                 @log.entries.first[1])
  end

  def test_an_error_that_meets_no_request_is_told
    error = ArgumentError.new("stray")
    @executor.report_stray(error)
    level, text, found = @log.entries.first
    assert_equal [:error, error], [level, found]
    assert_match(/while it ran no request; requests go on/, text)
  end

  def test_fewer_fibers_than_wanted_are_told_with_the_cause
    @executor.report_fewer(12, FiberError.new("no more stacks"))
    assert_match(/\Ano more than 12 requests run at once from here on: .*no more stacks/,
                 @log.entries.first[1])
  end

  def test_a_dropped_field_is_named_once
    2.times { @executor.report_dropped("X_Report_Test", ENV_OF_REQUEST) }
    assert_equal 1, @log.entries.size
    assert_match(/its field X_Report_Test is dropped, since X-Report-Test would have/,
                 @log.entries.first[1])
  end

  def test_a_field_that_is_left_out_is_named_once
    2.times { @executor.report_left_out("rack.report_test", ENV_OF_REQUEST) }
    assert_equal 1, @log.entries.size
    assert_match(/\AGET \/orders \(r1\): the response's field "rack.report_test" is left out/,
                 @log.entries.first[1])
  end

  # Names of applications are of any kind.
  def test_a_field_that_is_left_out_is_told_whatever_its_name_is
    @executor.report_left_out("rack.\xff\n#{"a" * 1000}", ENV_OF_REQUEST)
    told = @log.entries.first[1]
    assert_includes told, 'rack.?\na'
    assert_operator told.size, :<, 500
  end

  def test_nothing_is_said_without_a_log
    executor = Executor.new(nil)
    assert_nil executor.report(raised(ArgumentError.new("wrong")), ENV_OF_REQUEST)
    assert_nil executor.report_dropped("X_Report_Test_2", ENV_OF_REQUEST)
    assert_nil executor.report_left_out("rack.report_test_2", ENV_OF_REQUEST)
  end
end
