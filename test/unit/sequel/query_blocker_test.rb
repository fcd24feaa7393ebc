# frozen_string_literal: true

require_relative "../verbs/verbs_case"
require "sequel"
require "sequel/adapters/mock"
Sequel.extension :neverblock

# Sequel's query_blocker: `scope: :thread` is the request.
class SequelQueryBlockerTest < VerbsCase
  def setup
    @db = Sequel.connect("mock:/", keep_reference: false)
    @db.extension :query_blocker
  end

  def test_queries_of_other_fibers_are_not_blocked
    [:thread, Thread.current].each do |scope|
      NB.run do
        blocks = Thread::Queue.new
        leave = Thread::Queue.new
        found = NB.all(
          lambda {
            @db.block_queries(scope: scope) do
              blocks << true && leave.pop
              [blocked?, Fiber.new { blocked? }.resume,
               @db.allow_queries(scope: scope) { blocked? },
               @db.allow_queries(scope: :fiber) { blocked? }]
            end
          },
          -> { blocks.pop && blocked?.tap { leave << true } }
        )
        assert_equal [[true, true, false, false], false], found
        refute_predicate self, :blocked?
      end
    end
  end

  def test_outside_of_a_loop_it_is_the_thread
    @db.block_queries(scope: :thread) do
      assert_predicate self, :blocked?
      refute(Thread.new { blocked? }.value)
    end
    @db.block_queries { assert(NB.run { blocked? }) }
  end

  private

  def blocked?
    @db.run("SELECT 1")
    false
  rescue Sequel::QueryBlocker::BlockedQuery
    true
  end
end
