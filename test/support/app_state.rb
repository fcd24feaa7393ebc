# frozen_string_literal: true

# What a request may leave lying about, in every place that libraries use for it, and a barrier that
# holds requests until all are inside. For applications under test:
#
#   AppState.visit(me, at_once) # => what it found, and what it read back after it had been parked,
#                               #    twice

require "i18n"
require "active_support"
require "active_support/current_attributes"
require "active_support/tagged_logging"
require "active_support/time"
require "request_store"
require "sequel"
begin
  require "opentelemetry"
rescue LoadError
  nil # only in some bundles
end

I18n.enforce_available_locales = false

# Lets nobody out before so many have come, again and again.
class Barrier
  def initialize
    @inside = 0
    @doors = Thread::Queue.new
  end

  def pass(count)
    @inside += 1
    return @doors.pop if @inside < count

    @inside = 0
    (count - 1).times { @doors << true }
  end
end

module AppState
  class Current < ActiveSupport::CurrentAttributes
    attribute :me
  end

  LOGGER = ActiveSupport::TaggedLogging.new(Logger.new(IO::NULL))
  ZONES = ActiveSupport::TimeZone.all.map(&:name).freeze
  TRACE = defined?(OpenTelemetry::Context) ? OpenTelemetry::Context.create_key("me") : nil
  BARRIERS = [Barrier.new, Barrier.new].freeze
  DB = Sequel.connect(ENV.fetch("NB_TEST_DATABASE"), max_connections: 8)

  module_function

  # @param me [Integer]
  # @param at_once [Integer] how many visitors are waited for
  # @return [Hash]
  def visit(me, at_once)
    found = read
    shared = Thread.current.thread_variable_get(:app_state)
    write(me)
    BARRIERS.first.pass(at_once)
    first = read
    row = DB["select ?::int as me", me].get
    BARRIERS.last.pass(at_once)
    { me: me, found: found, shared: shared, first: first, second: read, row: row,
      expected: expected(me) }
  end

  def write(me)
    Thread.current[:app_state] = me
    Fiber[:app_state] = me if Fiber.respond_to?(:[])
    Fiber.current.instance_variable_set(:@app_state, me)
    Thread.current.thread_variable_set(:app_state, me)
    Current.me = me
    RequestStore.store[:me] = me
    I18n.locale = :"l#{me}"
    Time.zone = zone(me)
    LOGGER.push_tags(me.to_s)
    OpenTelemetry::Context.attach(OpenTelemetry::Context.current.set_value(TRACE, me)) if TRACE
  end

  def read
    {
      local: Thread.current[:app_state],
      storage: (Fiber[:app_state] if Fiber.respond_to?(:[])),
      variable: Fiber.current.instance_variable_get(:@app_state),
      attribute: Current.me,
      store: RequestStore.store[:me],
      locale: I18n.locale,
      zone: Time.zone&.name,
      tags: LOGGER.formatter.current_tags.dup,
      trace: (OpenTelemetry::Context.current.value(TRACE) if TRACE)
    }
  end

  # @param me [Integer, nil] nil: of a request that has left nothing
  def expected(me)
    {
      local: me,
      storage: (me if Fiber.respond_to?(:[])),
      variable: me,
      attribute: me,
      store: me,
      locale: me ? "l#{me}" : "en",
      zone: me && zone(me),
      tags: [*me&.to_s],
      trace: (me if TRACE)
    }
  end

  def zone(me)
    ZONES[me % ZONES.size]
  end
end
