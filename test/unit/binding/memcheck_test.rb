# frozen_string_literal: true

require_relative "../../support/unit"
require "open3"

# bin/memcheck on the exchanges that leave most behind. The long run is bin/memcheck by itself.
class MemcheckTest < Minitest::Test
  def test_a_few_exchanges_under_valgrind_leave_nothing_to_complain_of
    folders = ENV["PATH"].split(":")
    installed = folders.any? { |folder| File.executable?(File.join(folder, "valgrind")) }
    skip "valgrind is not installed" unless installed

    out, status = Open3.capture2e(File.expand_path("../../../bin/memcheck", __dir__), "hello",
                                  "cut", "nested", "stored", "spooled", "leaving", "headers")
    assert_predicate status, :success?, out
    assert_match(/7 exchanges, \d+ entries of valgrind, 0 ours, 0 failures/, out)
  end
end
