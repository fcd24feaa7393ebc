# frozen_string_literal: true

# The base of the binding's tests: a server in this process, so that a test sees executors, fibers
# and engines from inside, and a wire client.

require_relative "../../support/unit"
require_relative "../../support/patience"
require_relative "../../support/wire"
require "tempfile"
require "rack"
require "neverblock"

class BindingCase < Minitest::Test
  SECONDS = Patience::SECONDS
  # No stall of a machine that stands still is in the log.
  NO_STALL_MS = 60_000
  PLAIN = { "content-type" => "text/plain" }.freeze

  # Arguments whose conversion runs Ruby: it is what the C code meets in the middle of a call.
  Turning = Struct.new(:number, :effect) do
    def to_int
      effect.call
      number
    end
  end
  Naming = Struct.new(:text) { def to_str = text.dup }

  def setup
    @executors_before = ObjectSpace.each_object(NeverBlock::Executor).map(&:object_id)
    @log_file = Tempfile.new("neverblock-log")
    @log = NeverBlock::Log.new(@log_file.fileno)
  end

  def teardown
    assert @server.stop_now(timeout: SECONDS), "the server did not end" if @server
  ensure
    @log_file.close!
  end

  private

  # Starts a server of the test; it is stopped in teardown.
  def serve(app = nil, stall_ms: NO_STALL_MS, **settings, &block)
    config = NeverBlock::Config.new(binds: ["http://127.0.0.1:0"], log_fd: @log_file.fileno,
                                    stall_ms: stall_ms, answer_asterisk: 1, **settings)
    @server = NeverBlock::Server.new(config, app || block, log: @log).start
  end

  def client(**options, &block)
    Wire::Client.open(@server.urls.first, deadline_s: SECONDS, **options, &block)
  end

  def ask(path = "/", *fields)
    client { |wire| wire.get(path, *fields) && wire.response }
  end

  def logged
    @log.flush(SECONDS * 1000)
    File.read(@log_file.path)
  end

  # Asks the I/O loop something that it answers itself: its figures are of its turn before.
  def loop_turns
    client do |wire|
      wire.write("OPTIONS * HTTP/1.1\r\nHost: test\r\n\r\n")
      wire.response(method: "OPTIONS")
    end
  end

  # The server is as it was: a request is answered by the same application.
  def assert_serves(path = "/fine")
    response = ask(path)
    assert_equal [200, "fine"], [response.status, response.body]
  end

  # An engine and its executor without a server around them.
  def engine(**settings)
    (@engines ||= []) << NeverBlock::Engine.new(**settings)
    @engines.last
  end

  # Runs an executor on a thread; `ended` gives what run returned or raised.
  def run_apart(executor)
    Thread.new do
      Thread.current.report_on_exception = false
      executor.run
    rescue Exception => e # rubocop:disable Lint/RescueException -- it is what the test looks at
      e
    end
  end

  # The executors of this test. One of an earlier test whose thread was ended still has the requests
  # it had then.
  def executors
    ObjectSpace.each_object(NeverBlock::Executor).reject do |executor|
      @executors_before.include?(executor.object_id)
    end
  end

  def within(seconds = SECONDS, &block)
    Timeout.timeout(seconds, &block)
  end
end
