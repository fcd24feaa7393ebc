# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/cluster/control"

class ClusterControlTest < Minitest::Test
  def setup
    sockets = NeverBlock::Cluster::Control.pair
    @one, @other = sockets.map { |socket| NeverBlock::Cluster::Control.new(socket) }
  end

  def teardown
    [@one, @other].each(&:close)
  end

  def test_messages_arrive_whole_and_in_order
    @one.tell({ event: "a", lines: %w[x y] })
    @one.tell({ event: "b", count: 3 })
    assert_equal [{ event: "a", lines: %w[x y] }, { event: "b", count: 3 }], @other.read
    assert_empty @other.read
  end

  def test_a_part_of_a_message_waits_for_the_rest
    @one.io.write("{\"a\":")
    assert_empty @other.read
    @one.io.write("1}\n{")
    assert_equal [{ a: 1 }], @other.read
  end

  def test_descriptors_travel_with_their_messages_and_do_not_outlive_an_exec
    pipes = Array.new(3) { IO.pipe }
    pipes.each { |_, writer| @one.tell({ do: "take" }, [writer.fileno]) && writer.close }
    messages = []
    messages.concat(@other.read) while messages.size < 3
    pipes.each_with_index do |(reader, _), number|
      writer = @other.take(1).first
      assert_predicate writer, :close_on_exec?
      writer.write(number.to_s)
      writer.close
      assert_equal number.to_s, reader.read
      reader.close
    end
  end

  def test_descriptors_nobody_took_are_closed_with_it
    reader, writer = IO.pipe
    @one.tell({ do: "take" }, [writer])
    writer.close
    @other.read
    @other.close
    assert_equal "", reader.read
    reader.close
  end

  def test_text_of_any_kind_arrives
    @one.tell({ message: "\xFF caf\u00e9".b })
    assert_equal [{ message: "? caf\u00e9" }], @other.read
  end

  def test_an_end_that_is_gone_reads_as_nil_and_is_told_nothing
    @other.io.close
    assert_nil @one.read
    refute @one.tell({ event: "a" })
  end

  def test_what_is_no_message_is_an_end
    @one.io.write("hello\n")
    assert_nil @other.read
  end
end
