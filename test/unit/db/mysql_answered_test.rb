# frozen_string_literal: true

require "test_helper"
require "neverblock"
require "socket"

# NeverBlock.mysql_answered?: whether what a socket has is the whole answer to a query.
class MysqlAnsweredTest < Minitest::Test
  COLUMN = "\x03def\x00\x00\x00\x011\x00\x0c\x3f\x00\x01\x00\x00\x00\x03\x81\x00\x00\x00\x00".b
  ROW = "\x011".b
  # The end of columns and rows, and an OK packet in the place of the latter (CLIENT_DEPRECATE_EOF).
  END_PACKET = "\xfe\x00\x00\x02\x00".b
  OK_END = "\xfe\x00\x00\x02\x00\x00\x00".b

  WHOLE = {
    "no rows" => ["\x00\x00\x00\x02\x00\x00\x00".b],
    "an error" => ["\xff\x48\x04#42S22Unknown column".b],
    "two rows" => ["\x01".b, COLUMN, END_PACKET, ROW, ROW, END_PACKET],
    "no row" => ["\x01".b, COLUMN, END_PACKET, END_PACKET],
    "two columns, a row, the newer end" => ["\x02".b, COLUMN, COLUMN, ROW * 2, OK_END],
    "no row, the newer end" => ["\x01".b, COLUMN, OK_END],
    "an error in the midst of rows" => [
      "\x01".b, COLUMN, END_PACKET, ROW, "\xff\x25\x05#70100Query execution was interrupted".b
    ]
  }.freeze

  def packets(bodies)
    framed = bodies.each_with_index.map do |body, number|
      [body.bytesize].pack("V").byteslice(0, 3) + [number].pack("C") + body
    end
    framed.join
  end

  def answered?(bytes)
    Socket.pair(:UNIX, :STREAM) do |server, client|
      server.write(bytes)
      NeverBlock.mysql_answered?(client.fileno)
    end
  end

  WHOLE.each do |name, bodies|
    define_method("test_#{name}_is_whole_with_its_last_byte_and_not_before") do
      bytes = packets(bodies)
      assert answered?(bytes)
      bytes.bytesize.times do |size|
        refute answered?(bytes.byteslice(0, size)), "#{size} of #{bytes.bytesize} bytes"
      end
    end
  end

  def test_what_cannot_be_told_is_not_whole
    refute answered?(packets(["\xfbfile".b])), "LOAD DATA LOCAL"
    refute answered?(packets(["\x01\x00".b, ROW, END_PACKET])), "columns left out"
    rows = Array.new(3) { "\xfa#{"x" * 30_000}".b }
    refute answered?(packets(["\x01".b, COLUMN, END_PACKET, *rows, END_PACKET])),
           "more than is looked at"
  end

  def test_looking_takes_nothing_away
    bytes = packets(WHOLE["two rows"])
    Socket.pair(:UNIX, :STREAM) do |server, client|
      server.write(bytes)
      2.times { assert NeverBlock.mysql_answered?(client.fileno) }
      assert_equal bytes, client.readpartial(1000)
    end
  end
end
