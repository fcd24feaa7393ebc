# frozen_string_literal: true

# Fibers are pooled, requests are not to notice: nothing one leaves in its fiber is there for the
# next.

require_relative "../support/server_process_case"

class RackIsolationTest < ServerProcessCase
  CLEAN = { "local" => nil, "storage" => nil, "error" => nil, "variable" => nil }.freeze

  def assert_clean(found)
    found["storage"] ||= nil
    assert_equal CLEAN, found
  end

  def test_nothing_is_left_for_the_next_request_of_the_connection
    connect do |client|
      4.times do
        client.get("/isolation")
        assert_clean parsed(client.response)
      end
    end
  end

  def test_nothing_is_left_for_another_connection
    4.times { assert_clean parsed(ask("/isolation")) }
  end

  def test_an_exception_leaves_nothing_either
    2.times do
      assert_equal 500, ask("/failing?tag=#{new_tag}").status
      assert_clean parsed(ask("/isolation"))
    end
  end
end
