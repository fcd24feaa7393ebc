# frozen_string_literal: true

# ActiveSupport::Notifications under our loop: who subscribes and who is the first to send an event
# do not wait for each other.

require_relative "../../support/patience"
require_relative "../../support/unit"
require "neverblock"
require "active_support"
require "active_support/notifications"

class NotificationsTest < Minitest::Test
  # Each side is stopped, once, where it has its first lock, until the other has its own.
  module Meeting
    def meet
      @sending = Thread::Queue.new
      @subscribing = Thread::Queue.new
      @first = { all_listeners_for: true, clear_cache: true }
    end

    def all_listeners_for(name)
      once(:all_listeners_for) { @sending << true && @subscribing.pop }
      super
    end

    def clear_cache(key = nil)
      once(:clear_cache) { @subscribing << true && @sending.pop }
      super
    end

    private

    def once(name)
      yield if @first&.delete(name)
    end
  end

  def setup
    NB.run { nil }
    @fanout = ActiveSupport::Notifications::Fanout.new
    @fanout.subscribe("event") { nil }
  end

  def test_subscribing_while_the_first_event_is_sent
    @fanout.singleton_class.prepend(Meeting)
    @fanout.meet
    groups = nil
    NB.run do
      NB.deadline(Patience::SECONDS) do
        NB.all(-> { groups = @fanout.groups_for("event") },
               -> { @fanout.subscribe("event") { nil } })
      end
    end
    assert_equal 1, groups.size
    assert_equal 2, @fanout.groups_for("event").values.sum(&:size)
  end

  def test_each_event_reaches_whoever_is_subscribed_then
    seen = []
    subscription = @fanout.subscribe("event") { |name, *| seen << name }
    2.times { send_event }
    @fanout.unsubscribe(subscription)
    send_event
    assert_equal %w[event event], seen
  end

  private

  def send_event
    handle = @fanout.build_handle("event", "1", {})
    handle.start
    handle.finish
  end
end
