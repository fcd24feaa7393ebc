# frozen_string_literal: true

# Stand-ins for Thread in libraries that keep something by Thread.current.

require_relative "../../support/unit"
require "neverblock"

class OwnerTest < Minitest::Test
  # As RecursiveMutex, VCR and others do.
  module Library
    def self.owner = Thread.current
    def self.thread(&block) = Thread.new(&block)
  end
  NeverBlock::Compat::Owner.stand_in(Library)

  def test_each_fiber_of_a_loop_is_an_owner_with_those_that_it_resumes
    NB.run do
      own = Library.owner
      inner = Fiber.new { Library.owner }.resume
      other = NB.all(-> { Library.owner }).first
      assert_equal [own, own.hash, true], [inner, inner.hash, own.eql?(inner)]
      refute_equal own, other
      assert_equal({ own => 1 }, { own => 1 }.merge(inner => 1))
      assert_equal ["sleep", Array], [other.status || "sleep", own.backtrace.class]
    end
  end

  def test_all_else_is_its_threads
    NB.run do
      Library.owner[:word] = 1
      assert_equal [1, Thread.current.name.inspect, true],
                   [Thread.current[:word], Library.owner.name.inspect,
                    Library.owner.respond_to?(:thread_variable_get)]
      assert_raises(NoMethodError) { Library.owner.no_such }
      assert_equal 2, Library.thread { 2 }.value
    end
  end

  def test_outside_of_a_loop_the_owner_is_the_thread
    assert_same Thread.current, Library.owner
  end
end
