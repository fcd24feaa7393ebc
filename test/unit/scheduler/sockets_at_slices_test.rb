# frozen_string_literal: true

require_relative "../../support/cut_sockets"
require_relative "../../support/timeslices"
require "fiddle"
require "neverblock"
require "socket"

# Connections of fibers that are ended from outside where a time slice ends, in the middle of an
# answer whose rest has come. Without the cut, whoever uses the connection next reads that.
class SocketsAtSlicesTest < Minitest::Test
  include Timeslices
  include CutSockets

  ANSWER = "one\ntwo\nthree\n"
  # Each has read a part of the answer.
  PARTS = {
    "a_wait" => ->(io) { io.wait_readable && io.gets },
    "a_read_that_had_no_wait" => ->(io) { io.gets },
    "io_select" => ->(io) { IO.select([io, *IO.pipe]) && io.gets },
    "a_read_that_has_waited" => ->(io) { io.gets && Fiber.schedule { io.to_io } && io.gets },
    "an_enumerator" => ->(io) { Enumerator.new { |lines| loop { lines << io.gets } }.next },
    "a_fiber_that_it_has_resumed" => ->(io) { Fiber.new { io.wait_readable && io.gets }.resume },
    "a_wait_for_something_else_after_it" => ->(io) { io.gets && sleep(0) },
    "a_use_of_what_is_never_cut_after_it" => ->(io) { io.gets && use_others(io) }
  }.freeze

  class << self
    # Waits for what Sockets.cut leaves alone.
    def use_others(io)
      lent = BasicSocket.for_fd(io.fileno).tap { |it| it.autoclose = false }
      one, other = UNIXSocket.pair.each { |it| NeverBlock::Sockets.spare(it) }
      other.write("x")
      [one, IO.pipe.tap { |pipe| pipe.last << "x" }.first].each(&:wait_readable)
      datagrams = UDPSocket.new.tap { |it| it.bind("127.0.0.1", 0) }
      datagrams.send("x", 0, "127.0.0.1", datagrams.addr[1])
      datagrams.wait_readable
      lent
    end
  end

  PARTS.each do |name, part|
    define_method("test_after_#{name}_the_rest_is_nobodys") do
      connected do |client, server|
        ended_at_a_slice { part.call(client) }
        assert_cut client, server
      end
    end
  end

  def test_a_question_whose_answer_nobody_has_waited_for
    connected("") do |client, server|
      ended_at_a_slice { client.write("asked") }
      assert_cut client, server
    end
  end

  # epoll has forgotten the file that had the number before.
  def test_one_whose_number_was_that_of_one_that_was_used
    connected do |before, _|
      connected do |other, server|
        ended_at_a_slice do
          before.gets
          IO.for_fd(before.fileno).close
          @kept = Socket.for_fd(dup_to(other, before.fileno)).tap(&:gets)
        end
        assert_equal before.fileno, @kept.fileno
        assert_cut @kept, server
      end
    end
  ensure
    close(@kept) if @kept
  end

  CLOSE = Fiddle::Function.new(Fiddle.dlopen(nil)["close"], [Fiddle::TYPE_INT], Fiddle::TYPE_INT)
  # Whose reads say that the number is no socket's.
  FILES = {
    "a_file" => -> { File.open(__FILE__) { |file| file.read(1) && file.fileno } },
    "a_file_that_was_closed_behind_its_back" => lambda do
      file = File.open(__FILE__).tap { |it| it.autoclose = false }
      file.read(1) && file.fileno.tap { |number| CLOSE.call(number) }
    end
  }.freeze

  FILES.each do |name, number|
    define_method("test_one_whose_number_was_that_of_#{name}") do
      connected do |other, server|
        ended_at_a_slice { has_number(other, number.call).gets }
        assert_cut @kept, server
      end
    ensure
      close(@kept) if @kept
    end

    define_method("test_one_whose_number_was_that_of_#{name}_and_that_is_used_since") do
      connected do |other, server|
        ended_at_a_slice do
          client = has_number(other, number.call)
          client.wait_readable && client.gets
          fiber { client.write("asked") }
        end
        assert_equal "asked", server.readpartial(5)
        assert_whole @kept, server
      end
    ensure
      close(@kept) if @kept
    end
  end

  # --- what stays whole ---

  def test_one_that_another_fiber_has_waited_for_since
    connected do |client, server|
      ended_at_a_slice do
        client.gets
        fiber { client.wait_writable }
      end
      assert_whole client, server
    end
  end

  def test_one_that_another_fiber_has_written_to_since
    connected do |client, server|
      ended_at_a_slice do
        client.gets
        fiber { client.write("asked") }
      end
      assert_equal "asked", server.readpartial(5)
      assert_whole client, server
    end
  end

  def test_one_that_another_fiber_waits_for
    got = nil
    connected("one\n") do |client, server|
      in_timeslices do
        fiber { client.wait_readable && client.gets && client.wait_readable && (got = client.gets) }
        fiber do
          end_at_a_slice { client.wait_writable }
          server.puts("news")
        end
      end
    end
    assert_equal "news\n", got
  end

  def test_one_that_a_fiber_of_another_scheduler_has_used_since
    connected do |client, server|
      ended_at_a_slice do
        client.gets
        other = Thread.new do
          Fiber.set_scheduler(NeverBlock::Scheduler.new)
          Fiber.schedule { client.wait_writable }
        end
        other.join
      end
      assert_whole client, server
    end
  end

  def test_one_that_was_used_before_the_block_that_is_ended
    connected do |client, server|
      in_timeslices do
        fiber do
          client.gets
          end_at_a_slice { nil }
        end
      end
      assert_whole client, server
    end
  end

  def test_that_of_the_fiber_that_has_started_this_one
    connected do |client, server|
      in_timeslices do
        fiber do
          client.gets
          fiber { end_at_a_slice { nil } }
        end
      end
      assert_whole client, server
    end
  end

  def test_a_timeout_leaves_it_to_the_library
    connected do |client, server|
      in_timeslices do
        fiber do
          assert_raises(Timeout::Error) do
            Timeout.timeout(0.01) do
              client.wait_readable && client.gets
              be_preempted while true
            end
          end
        end
      end
      assert_whole client, server
    end
  end

  def test_what_was_accepted
    connected("") do |client, server|
      client.write(ANSWER)
      ended_at_a_slice { server.wait_readable && server.gets }
      assert_whole server, client
    end
  end

  def test_one_that_has_the_number_of_one_that_was_closed
    number = nil
    connected do |client, _|
      connected do |other, server|
        ended_at_a_slice do
          client.wait_readable && client.gets
          number = client.fileno
          client.close
          Socket.for_fd(dup_to(other, number)).then { |it| @kept = it }
        end
        assert_equal number, @kept.fileno
        assert_whole @kept, server
      end
    end
  ensure
    @kept&.close
  end

  # The number was closed under its IO, which cannot know.
  def test_one_whose_number_was_given_to_another_behind_its_back
    connected do |client, _|
      connected do |other, server|
        ended_at_a_slice do
          client.wait_readable && client.gets
          IO.for_fd(client.fileno).close
          @number = client.fileno
          assert_equal @number, dup_to(other, @number)
        end
        assert_whole other, server
      end
    end
  end

  def test_one_that_was_reopened
    connected do |client, _|
      connected do |other, server|
        ended_at_a_slice do
          client.wait_readable && client.gets
          client.reopen(other)
        end
        assert_whole other, server
      end
    end
  end

  private

  # The answer has come, all of it.
  def connected(answer = ANSWER)
    listener = TCPServer.new("127.0.0.1", 0)
    client = TCPSocket.new("127.0.0.1", listener.addr[1])
    server = listener.accept
    server.write(answer)
    yield client, server
  ensure
    [client, server, listener].compact.each { |io| close(io) }
  end

  def close(io)
    io.close
  rescue Errno::EBADF
    nil # closed under it
  end

  # The lowest number that is free is given next.
  def dup_to(io, number)
    copies = [io.dup]
    copies << io.dup until copies.last.fileno >= number
    copy = copies.pop.tap { |it| it.autoclose = false }
    copies.each(&:close)
    copy.fileno
  end

  # @return [Socket] the same connection, under the number
  def has_number(io, number)
    @kept = Socket.for_fd(dup_to(io, number)).tap { |it| assert_equal number, it.fileno }
  end

  def ended_at_a_slice(&block)
    in_timeslices { fiber { end_at_a_slice(&block) } }
  end

  # The client has left when the block is over; the fiber computes, and is ended there.
  def end_at_a_slice
    assert_raises(NB::ClientGone) do
      Fiber.scheduler.cancellable do |it|
        yield
        Fiber.schedule { it.cancel(NB::ClientGone, "it has left") }
        be_preempted while true
      end
    end
  end

  def assert_whole(client, server)
    server.write("more")
    got = String.new
    Timeout.timeout(SECONDS) { got << client.readpartial(100) until got.end_with?("more") }
    client.write("asked")
    assert_equal "asked", Timeout.timeout(SECONDS) { server.readpartial(5) }
  end
end
