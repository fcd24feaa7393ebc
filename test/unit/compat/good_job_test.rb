# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock"
require "neverblock/compat/good_job"

# What GoodJob is told of this process. test/gems/uses/good_job.rb does it with the gem. Classes
# here answer as the gem's do: once, and then what they have kept.
class CompatGoodJobTest < Minitest::Test
  class Configuration
    attr_writer :found

    def in_webserver?
      @kept = @found if @kept.nil?
      @kept || false
    end
  end

  # Of a version that is told by the configuration.
  class Adapter
    attr_reader :started

    def initialize(configuration, running: false)
      @configuration = configuration
      @running = running
      @started = 0
    end

    def execute_async? = @configuration.in_webserver?
    def async_started? = @running

    def start_async
      @running = true
      @started += 1
    end

    class << self
      attr_accessor :instances
    end
  end

  # Of a version that asks itself.
  class OldAdapter
    def execute_async? = in_server_process?

    private

    def in_server_process? = false
  end

  module Application
    def self.application = self
  end

  def setup
    @serving = NeverBlock.serving
    @rails = Object.__send__(:remove_const, :Rails) if Object.const_defined?(:Rails)
    Object.const_set(:Rails, Application)
    NeverBlock.serving = nil
  end

  def teardown
    NeverBlock.serving = @serving
    %i[GoodJob Rails].each { |name| Object.__send__(:remove_const, name) }
    Object.const_set(:Rails, @rails) if @rails
  end

  def test_a_process_that_serves_is_a_web_server_whatever_was_kept
    configuration = gem_with(Adapter).const_get(:Configuration).new
    configuration.found = false
    NeverBlock::Compat::GoodJob.apply
    refute_predicate configuration, :in_webserver?
    serve
    assert_predicate configuration, :in_webserver?
  end

  def test_elsewhere_the_gem_answers_itself
    configuration = gem_with(Adapter).const_get(:Configuration).new
    NeverBlock::Compat::GoodJob.apply
    NB.run { refute_predicate configuration, :in_webserver? }
    configuration.found = true
    assert_predicate configuration, :in_webserver?
  end

  def test_an_adapter_that_asks_itself_is_told_too
    gem_with(OldAdapter)
    NeverBlock::Compat::GoodJob.apply
    refute_predicate OldAdapter.new, :execute_async?
    serve
    assert_predicate OldAdapter.new, :execute_async?
  end

  def test_jobs_that_were_not_begun_before_it_served_begin_once
    found = gem_with(Adapter)
    adapters = [false, true].map { |on| Adapter.new(found::Configuration.new, running: on) }
    Adapter.instances = adapters
    NeverBlock::Compat::GoodJob.apply
    assert_equal [0, 0], adapters.map(&:started)
    serve
    2.times { NeverBlock::Compat::GoodJob.apply }
    assert_equal [1, 0], adapters.map(&:started)
  end

  def test_jobs_wait_for_an_application_that_is_not_ready
    found = gem_with(Adapter, ready: false)
    Adapter.instances = [Adapter.new(found::Configuration.new)]
    serve
    NeverBlock::Compat::GoodJob.apply
    assert_equal 0, Adapter.instances.first.started
  end

  private

  def serve
    NeverBlock.serving = NeverBlock::Serving.new(fibers: 1)
  end

  def gem_with(adapter, ready: true)
    adapter.instances = [] if adapter.respond_to?(:instances=)
    Object.const_set(:GoodJob, Module.new).tap do |found|
      found.const_set(:Configuration, Class.new(Configuration))
      found.const_set(:Adapter, adapter)
      found.define_singleton_method(:async_ready?) { ready }
    end
  end
end
