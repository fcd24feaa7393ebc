# frozen_string_literal: true

require_relative "../../support/unit"
require_relative "../../support/patience"
require "neverblock"
require "neverblock/cluster/fork_safety"

class ClusterForkSafetyTest < Minitest::Test
  SAFETY = NeverBlock::Cluster::ForkSafety

  # Library as it is loaded => what is called of it before and after a fork.
  def test_active_record_gives_up_its_connections_before_a_fork
    calls = []
    handler = Struct.new(:calls) { def clear_all_connections! = calls << :clear_all_connections! }
    base = Class.new { define_singleton_method(:connection_handler) { handler.new(calls) } }
    older = Module.new { const_set(:Base, base) }
    newer = Module.new { const_set(:Base, base) }
    newer.define_singleton_method(:disconnect_all!) { calls << :disconnect_all! }
    with(ActiveRecord: older) { SAFETY.before }
    with(ActiveRecord: newer) { SAFETY.before }
    assert_equal %i[clear_all_connections! disconnect_all!], calls
  end

  def test_active_record_that_nobody_used_is_not_loaded_for_it
    record = Module.new { autoload :Base, "/no/such/file" }
    with(ActiveRecord: record) { SAFETY.before }
    assert record.autoload?(:Base)
  end

  def test_sequel_mongoid_and_semantic_logger_are_told
    calls = []
    database = Object.new
    database.define_singleton_method(:disconnect) { calls << :disconnect }
    mongoid = Module.new
    logger = Module.new
    %i[disconnect_clients reconnect_clients].each do |name|
      mongoid.define_singleton_method(name) { calls << name }
    end
    logger.define_singleton_method(:reopen) { calls << :reopen }
    sequel = Module.new { const_set(:DATABASES, [database]) }
    with(Sequel: sequel, Mongoid: mongoid, SemanticLogger: logger) do
      SAFETY.before
      SAFETY.after
    end
    assert_equal %i[disconnect disconnect_clients reconnect_clients reopen], calls
  end

  def test_without_any_of_them_nothing_happens
    SAFETY.before
    SAFETY.after
  end

  def test_threads_that_no_child_will_have_are_named_with_their_places
    queue = Thread::Queue.new
    ticking = Thread.new { queue.pop }
    ticking.name = "ticker"
    safe = Thread.new { queue.pop }
    safe.thread_variable_set(:fork_safe, true)
    words = SAFETY.threads_left([Thread.current, ticking, safe])
    assert_equal 1, words.size
    assert_match(/\Aticker \(at .*fork_safety_test\.rb:\d+/, words.first)
  ensure
    2.times { queue << nil }
    [ticking, safe].each { |thread| thread.join(Patience::SECONDS) }
  end

  def test_a_thread_that_waits_by_a_method_of_ours_is_named_with_the_line_that_calls_it
    reader, writer = IO.pipe
    selecting = Thread.new { IO.select([reader]) }
    Patience.await("the thread waits") { selecting.status == "sleep" }
    assert_match(/fork_safety_test\.rb:\d+/, SAFETY.threads_left([selecting]).first)
  ensure
    writer.close
    selecting.join(Patience::SECONDS)
    reader.close
  end

  private

  def with(**constants)
    before = constants.keys
      .select { |name| Object.const_defined?(name) }
      .to_h { |name| [name, Object.send(:remove_const, name)] }
    constants.each { |name, value| Object.const_set(name, value) }
    yield
  ensure
    constants.each_key { |name| Object.send(:remove_const, name) }
    before.each { |name, value| Object.const_set(name, value) }
  end
end
