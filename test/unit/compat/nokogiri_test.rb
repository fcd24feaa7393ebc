# frozen_string_literal: true

# What is read before libxml2 parses it, and what is not.

require_relative "../../support/scheduler_harness"
require "nokogiri"

class NokogiriCompatTest < Minitest::Test
  include SchedulerHarness

  # No IO. Gives its parts, and raises those that are exceptions.
  class Parts
    attr_reader :left

    def initialize(*parts)
      @left = parts
    end

    def read(bytes)
      part = @left.shift
      raise part if part.is_a?(Exception)
      return part if part.nil? || part.bytesize <= bytes

      @left.unshift(part.byteslice(bytes..))
      part.byteslice(0, bytes)
    end

    def close; end
  end

  def test_a_document_is_read_whole_and_parsed_as_it_was_read
    assert_equal %w[b c], names(Parts.new("<a><b/>", "<c", "/></a>"))
  end

  def test_an_error_of_the_io_comes_where_it_would_come_without_a_scheduler
    parts = ["<a><b/>", IOError.new("gone"), "<c/></a>"]
    without = Nokogiri::XML(Parts.new(*parts))
    within = within_a_fiber { Nokogiri::XML(Parts.new(*parts)) }
    assert_equal [without.to_s, without.errors.map(&:message)],
                 [within.to_s, within.errors.map(&:message)]
  end

  def test_an_error_that_ends_the_request_is_raised
    late = NeverBlock::DeadlineExceeded.new("late")
    within_a_fiber do
      assert_raises(NeverBlock::DeadlineExceeded) { Nokogiri::XML(Parts.new("<a>", late)) }
    end
  end

  def test_a_reader_reads_no_more_than_its_bound_ahead
    filler = "<b>#{"x" * 1_048_576}</b>"
    parts = Parts.new("<a>", *[filler] * 20, "</a>")
    within_a_fiber do
      reader = Nokogiri::XML::Reader.from_io(parts)
      assert_same parts, reader.source
      assert_includes 4..6, parts.left.size
      assert_equal 40, (reader.count { |node| node.name == "b" })
    end
  end

  def test_an_io_is_read_while_it_is_parsed
    IO.pipe do |r, w|
      w << "<a><b/></a>"
      w.close
      assert_equal %w[b], names(r)
    end
  end

  private

  def within_a_fiber
    value = nil
    in_scheduler { fiber { value = yield } }
    value
  end

  def names(io)
    within_a_fiber { Nokogiri::XML(io).root.children.map(&:name) }
  end
end
