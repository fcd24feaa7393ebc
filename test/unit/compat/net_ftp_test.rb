# frozen_string_literal: true

require "stringio"
require_relative "../../support/ended_fiber"
require_relative "../../support/killed_fiber"
require_relative "../../support/scheduler_harness"
require_relative "../../hooks/support/stage"
require_relative "../../hooks/services/bundled"
require_relative "../../hooks/services/ftp"
require "neverblock"

# A kept connection of Net::FTP whose fiber was ended from outside: the reply that nobody has read
# is not given to the next command.
class CompatNetFTPTest < Minitest::Test
  include EndedFiber
  include SchedulerHarness

  # More than the sockets between take.
  LARGE = ("x" * (16 << 20)).freeze
  # What is held, and a call that waits there.
  WAITS = {
    "binary_data" => [:data, ->(ftp) { ftp.getbinaryfile("x", nil) }],
    "lines" => [:data, ->(ftp) { ftp.list }],
    "the_last_reply" => [:complete, ->(ftp) { ftp.getbinaryfile("x", nil) }],
    "an_upload" => [:data, ->(ftp) { ftp.storbinary("STOR y", StringIO.new(LARGE), 65_536) }],
    "a_command" => ["SIZE", ->(ftp) { ftp.size("x") }]
  }.freeze

  def setup
    HookServices::Bundled.require("net/ftp", gem: "net-ftp")
    NeverBlock::Compat::NetFTP.apply
  end

  def teardown
    @service&.close
  end

  WAITS.each do |name, (point, call)|
    define_method("test_ended_in_the_wait_for_#{name}_it_is_closed") do
      with_ftp(point) do |ftp|
        assert_instance_of NB::ClientGone, ended_in(ftp, call) { |it| raise_in(it) }
        assert_closed ftp
      end
    end
  end

  def test_killed_in_the_wait_for_data_it_is_closed
    with_ftp(:data) do |ftp|
      ended_in(ftp, WAITS["lines"].last) { |it| KilledFiber.kill(it) }
      assert_closed ftp
    end
  end

  def test_ended_in_another_wait_during_a_transfer_it_is_closed
    with_ftp(nil) do |ftp|
      inside = false
      slow = ->(it) { it.retrbinary("RETR x", 1024) { (inside = true) && sleep } }
      ended_in(ftp, slow, -> { inside }) { |it| raise_in(it) }
      assert_closed ftp
    end
  end

  def test_who_is_ended_while_another_talks_leaves_it_open
    with_ftp(:data) do |ftp|
      got = nil
      reader = Fiber.schedule { got = ftp.getbinaryfile("x", nil) }
      sleep(0) until @service.reached?
      ended_in(ftp, ->(it) { it.noop }) { |it| raise_in(it) }
      @service.open
      sleep(0) while reader.alive?

      assert_equal HookServices::Ftp::TEXT, got
      assert_equal 15, ftp.size("x")
    end
  end

  def test_a_reply_that_is_an_error_leaves_it_open
    with_ftp(nil) do |ftp|
      assert_raises(Net::FTPPermError) { ftp.site("x") }
      assert_equal 15, ftp.size("x")
    end
  end

  private

  def with_ftp(point)
    @service = HookServices::Ftp.new(hold: point)
    in_scheduler do
      fiber do
        ftp = Net::FTP.new
        ftp.connect(@service.host, @service.port)
        ftp.login("user", "secret")
        yield ftp
      ensure
        @service.open
        ftp&.close
      end
    end
  end

  def ended_in(ftp, call, waits = -> { @service.reached? }, &)
    ended(-> { call.call(ftp) }, waits, &)
  end

  def assert_closed(ftp)
    @service.open
    assert_predicate ftp, :closed?
    assert_raises(IOError) { ftp.size("x") }
  end
end
