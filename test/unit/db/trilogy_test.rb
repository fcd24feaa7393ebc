# frozen_string_literal: true

require "socket"
require "test_helper"
require "trilogy"
require "neverblock/db/trilogy"

# Tests which releases of trilogy are given the KILL of a query. The real ones are in
# test/integration/trilogy_test.rb and mysql_kill_test.rb.
class TrilogyTest < Minitest::Test
  HERE = Addrinfo.tcp("127.0.0.1", 3306)

  Socket = Struct.new(:local_address)

  class Old
    VERSION = "2.10.0"
    attr_reader :connected

    def initialize(...) = _connect(...)

    private

    def _connect(encoding, charset, options) = @connected = [encoding, charset, options]
  end

  class New < Old
    private

    def _connect(socket, encoding, charset, options)
      @connected = [socket, encoding, charset, options]
    end
  end

  # Lobsters has 2.9, whose first argument is a Trilogy::Encoding.
  def test_a_release_whose_socket_is_not_rubys_is_left_as_it_is
    NeverBlock::DB::Trilogy.apply(Old)
    refute_includes Old.ancestors, NeverBlock::DB::Trilogy::Client
    assert_equal [:encoding, 33, {}], Old.new(:encoding, 33, {}).connected
  end

  def test_one_that_is_given_a_socket_keeps_its_address
    2.times { NeverBlock::DB::Trilogy.apply(New) }
    assert_equal 1, New.ancestors.count(NeverBlock::DB::Trilogy::Client)
    client = New.new(Socket.new(HERE), :encoding, 33, {})
    assert_equal [Socket.new(HERE), :encoding, 33, {}], client.connected
    assert_equal HERE, client.instance_variable_get(:@neverblock_address)
  end

  # On a UNIX socket it asks for the session's number.
  def test_a_server_that_answers_with_an_error_is_used_all_the_same_and_one_that_is_lost_is_not
    connect = lambda do |error|
      trilogy = Class.new(New) { define_method(:query) { |_| raise error } }
      trilogy.prepend(NeverBlock::DB::Trilogy::Client)
      trilogy.new(Socket.new(Addrinfo.unix("/tmp/mysql.sock")), :encoding, 33, {})
    end
    [1064, 1142].each do |code|
      assert connect.call(Trilogy::ProtocolError.from_code("refused", code)).connected
    end
    assert_raises(Trilogy::EOFError) { connect.call(Trilogy::EOFError.new) }
  end

  def test_another_constant_of_that_name_is_none
    other = Class.new
    NeverBlock::DB::Trilogy.apply(other)
    refute_includes other.ancestors, NeverBlock::DB::Trilogy::Client
  end
end
