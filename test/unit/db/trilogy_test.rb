# frozen_string_literal: true

require "socket"
require "test_helper"
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

  def test_another_constant_of_that_name_is_none
    other = Class.new
    NeverBlock::DB::Trilogy.apply(other)
    refute_includes other.ancestors, NeverBlock::DB::Trilogy::Client
  end
end
