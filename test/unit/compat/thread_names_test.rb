# frozen_string_literal: true

# Files of libraries that are named after a thread. Fibers of one thread have files of their own.

require_relative "../../support/unit"
require "neverblock"

class ThreadNamesTest < Minitest::Test
  # As the libraries name theirs.
  class Store
    def name = "value-#{Process.pid}-#{Thread.current.object_id}"
    def pass = Thread.pass
  end

  # Classes that a library loads when they are first asked for.
  LIBRARIES = %w[Rack::Cache::EntityStore::Disk Moneta::Adapters::File LatexToPdf].freeze

  def test_fibers_of_one_thread_have_names_of_their_own
    NeverBlock::Compat::ThreadNames.give(Store)
    names = NB.run { NB.all(*Array.new(3) { -> { [Store.new.name, sleep(0) && Store.new.name] } }) }

    assert_equal 3, names.flatten.uniq.size
    names.each { |before, after| assert_equal before, after }
  end

  def test_a_thread_beside_the_loop_is_its_own_name
    NeverBlock::Compat::ThreadNames.give(Store)

    assert_equal "value-#{Process.pid}-#{Thread.current.object_id}", Store.new.name
    assert_nil Store.new.pass
  end

  def test_each_library_that_is_there_has_them
    owners = LIBRARIES.map { |name| define(name) }
    NeverBlock::Compat::ThreadNames.apply

    owners.each { |owner| assert_same NeverBlock::Compat::ThreadNames::Named, owner::Thread }
  ensure
    remove
  end

  private

  # Removes what was not there before.
  def remove
    @made.reverse_each { |outer, name| outer.send(:remove_const, name) }
  end

  def define(path)
    @made ||= []
    path.split("::").inject(Object) do |outer, name|
      next outer.const_get(name, false) if outer.const_defined?(name, false)

      @made << [outer, name]
      outer.const_set(name, Module.new)
    end
  end
end
