# frozen_string_literal: true

require_relative "../../support/cut_sockets"
require_relative "../../support/between"
require_relative "../../support/timeslices"
require "neverblock"
require "openssl"
require "tmpdir"
require_relative "../../support/self_signed_certificate"

# Connections whose wait is ended from outside are cut, and what is no pool's connection, or is
# ended as on a thread, is not.
class SocketsTest < Minitest::Test
  include Between
  include CutSockets
  include Timeslices

  LIMIT_S = 0.02
  # In the middle of an answer.
  WAITS = {
    "gets" => ->(io) { io.gets },
    "read" => ->(io) { io.read(100) },
    "wait_readable" => ->(io) { io.readpartial(100) && io.wait_readable },
    "IO.select" => ->(io) { io.readpartial(100) && IO.select([io]) },
    "a write" => ->(io) { io.write("x" * 65_536) while true }
  }.freeze

  WAITS.each do |name, wait|
    define_method("test_a_connection_that_#{name.tr(" .", "__").downcase}_waits_for_is_cut") do
      connected do |client, server|
        ended_by_deadline { wait.call(client) }
        assert_cut client, server
      end
    end
  end

  ENDS = {
    "nb_all" => ->(work) { NB.all(work, -> { sleep(LIMIT_S) && raise(KeyError) }) },
    "a_cancellation" => ->(work) {
      Fiber.scheduler.cancellable do |it|
        Fiber.schedule { it.cancel(NB::Cancelled) } && work.call
      end
    },
    "a_client_that_has_left" => ->(work) {
      Fiber.scheduler.cancellable do |it|
        Fiber.schedule { it.cancel(NB::ClientGone, "it has left") } && work.call
      end
    },
    "a_deadline_that_was_over_before_the_wait" => ->(work) { NB.deadline(0, &work) }
  }.freeze

  ENDS.each do |name, work_off|
    define_method("test_#{name}_cuts") do
      connected do |client, server|
        in_scheduler { fiber { assert_raises(Exception) { work_off.call(-> { client.gets }) } } }
        assert_cut client, server
      end
    end
  end

  def test_no_slice_ends_in_a_copy_before_its_first_socket_knows_that_the_descriptor_is_anothers
    connected do |client, server|
      stayed = nil
      in_timeslices do
        fiber do
          copy = between(-> { stayed = stays? }) { NeverBlock::Sockets.copy_of(client.fileno) }
          assert_predicate copy, :autoclose?
          copy.close
        end
        fiber { be_preempted }
      end
      assert_equal true, stayed
      refute_predicate client, :closed?
      server.write(" and more")
      assert_match(/ and more\z/, client.readpartial(100))
    end
  end

  def test_the_end_of_a_loop_that_was_left_cuts
    connected do |client, server|
      assert_raises(KeyError) do
        NB.run do
          Fiber.schedule { client.gets }
          raise KeyError
        end
      end
      assert_cut client, server
    end
  end

  def test_a_fiber_that_is_killed_cuts
    skip "Fiber#kill is Ruby 3.3's" unless Fiber.method_defined?(:kill)
    connected do |client, server|
      in_scheduler do
        waiter = fiber { client.gets }
        fiber { waiter.kill }
      end
      assert_cut client, server
    end
  end

  def test_over_tls_too
    certificate = SelfSignedCertificate.new
    connected(half: "") do |client, server|
      accepted = Thread.new do
        OpenSSL::SSL::SSLSocket.new(server, certificate.server_context).tap(&:accept)
      end
      secure = OpenSSL::SSL::SSLSocket.new(client).tap(&:connect)
      accepted.value.write("half")
      ended_by_deadline { secure.gets }
      assert_raises(SystemCallError, OpenSSL::SSL::SSLError) { 2.times { secure.write("asked") } }
    end
  end

  def test_by_a_named_unix_socket_too
    Dir.mktmpdir do |folder|
      UNIXServer.open(path = File.join(folder, "s")) do |listener|
        connected(UNIXSocket.new(path), listener.accept) do |client, server|
          ended_by_deadline { client.gets }
          assert_cut client, server
        end
      end
    end
  end

  # --- what is left alone ---

  AS_ON_THREADS = {
    "timeout" => ->(work) { Timeout.timeout(LIMIT_S, &work) },
    "timeout_with_a_class" => ->(work) { Timeout.timeout(LIMIT_S, KeyError, &work) },
    "fiber_raise" => ->(work) {
      Fiber.current.then { |it| Fiber.schedule { it.raise(KeyError) } } && work.call
    }
  }.freeze

  AS_ON_THREADS.each do |name, work_off|
    define_method("test_after_#{name}_the_same_wait_can_be_made_again") do
      connected do |client, server|
        in_scheduler do
          fiber do
            assert_equal "half", client.readpartial(4)
            assert_raises(KeyError, Timeout::Error) { work_off.call(->(*) { client.gets }) }
            server.write(" and half\n")
            assert_equal " and half\n", client.gets
          end
        end
      end
    end
  end

  def test_what_was_accepted_is_not_cut
    connected do |client, server|
      ended_wait(server)
      client.puts("asked")
      assert_equal "asked\n", server.gets
    end
  end

  def test_one_of_a_pair_is_not_cut
    one, other = UNIXSocket.pair
    ended_wait(one)
    other.puts("news")
    assert_equal "news\n", one.gets
  end

  def test_a_descriptor_that_is_a_drivers_is_not_cut
    connected do |client, server|
      lent = Socket.for_fd(client.fileno).tap { |io| io.autoclose = false }
      assert_equal "half", lent.readpartial(4)
      ended_wait(lent)
      server.puts(" and half")
      assert_equal " and half\n", client.gets
    end
  end

  def test_one_that_another_fiber_waits_for_is_not_cut
    got = nil
    connected do |client, server|
      client.readpartial(4)
      in_scheduler do
        fiber { client.wait_readable and got = client.gets }
        fiber do
          assert_raises(NB::DeadlineExceeded) { NB.deadline(LIMIT_S) { client.wait_readable } }
          server.puts("news")
        end
      end
    end
    assert_equal "news\n", got
  end

  def test_pipes_files_and_datagrams_are_nothing_to_cut
    reader, = IO.pipe
    datagrams = UDPSocket.new
    datagrams.bind("127.0.0.1", 0)
    datagrams.connect("127.0.0.1", datagrams.addr[1])
    closed = IO.pipe.first.tap(&:close)
    [reader, File.open(__FILE__), datagrams, TCPServer.new("127.0.0.1", 0), closed].each do |io|
      refute NeverBlock::Sockets.cut(io), io.inspect
    end
    datagrams.send("x", 0)
    assert_equal "x", datagrams.recv(1)
  end

  def test_one_that_was_closed_meanwhile_is_nothing_to_cut
    connected do |client, _server|
      client.close
      refute NeverBlock::Sockets.cut(client)
    end
  end

  # --- a pool that knows nothing ---

  def test_a_pool_of_plain_sockets_never_gives_half_an_answer
    listener = TCPServer.new("127.0.0.1", 0)
    echo = Thread.new do
      loop do
        Thread.new(listener.accept) do |it|
          answer(it) while it.wait_readable && !it.eof?
        rescue SystemCallError
          nil # it was cut
        end
      end
    end
    @held = Queue.new
    pool = Queue.new
    3.times { pool << TCPSocket.new("127.0.0.1", listener.addr[1]) }
    in_scheduler do
      30.times do |index|
        fiber { ask(pool, listener.addr[1], "mine #{index}", ended: index.even?) }
      end
    end
    assert_equal 3, pool.size
    assert @ended
  ensure
    echo&.kill&.join
    listener&.close
  end

  private

  # Half an answer has come.
  def connected(client = nil, server = nil, half: "half")
    listener = TCPServer.new("127.0.0.1", 0) unless client
    client ||= TCPSocket.new("127.0.0.1", listener.addr[1])
    server ||= listener.accept
    server.write(half)
    yield client, server
  ensure
    [client, server, listener].compact.each(&:close)
  end

  # Runs the block in a fiber, where it waits until a deadline is over.
  def ended_by_deadline
    in_scheduler do
      fiber { assert_raises(NB::DeadlineExceeded) { NB.deadline(LIMIT_S) { yield } } }
    end
  end

  def ended_wait(io)
    ended_by_deadline { io.wait_readable && io.gets }
  end

  # As an application might, that gives back whatever it has taken.
  # The first is answered when its deadline has ended it.
  def answer(socket)
    line = socket.gets
    @held.pop if line == "mine 0\n"
    socket.write(line)
  end

  def ask(pool, port, mine, ended:)
    socket = pool.pop
    socket.puts(mine)
    assert_equal "#{mine}\n", ended ? NB.deadline(0) { socket.gets } : socket.gets
  rescue NB::DeadlineExceeded
    @ended = true
    @held << true
  rescue Errno::EPIPE, Errno::ECONNRESET
    socket = TCPSocket.new("127.0.0.1", port)
    retry_with(socket, mine)
  ensure
    pool << socket
  end

  def retry_with(socket, mine)
    socket.puts(mine)
    assert_equal "#{mine}\n", socket.gets
  end
end
