# frozen_string_literal: true

# What libraries keep for "the thread".

UnchangedHunt.kind :contexts do
  needs <<~'RUBY'
    require "active_support"
    require "active_support/current_attributes"
    require "active_support/isolated_execution_state"
    require "active_support/tagged_logging"
    require "active_support/core_ext/time"
    require "active_support/notifications"
    require "active_support/logger"
    require "active_support/deprecation"
    require "active_support/cache"
    require "concurrent"
    require "connection_pool"
    require "i18n"
    I18n.available_locales = %i[en de fr]
  RUBY

  habit :current_attributes, <<~'RUBY', setup: <<~'SETUP'
    Current__N__.user = __T__
    __WAIT__
    out << Current__N__.user
    __WAIT__
    out << Current__N__.set(user: 1) { __WAIT__; Current__N__.user } << Current__N__.user
    Current__N__.reset
  RUBY
    class Current__N__ < ActiveSupport::CurrentAttributes; attribute :user; end
  SETUP

  habit :current_attributes_around, <<~'RUBY', setup: <<~'SETUP'
    Current__N__.set(user: __T__) do
      __BODY__
      out << Current__N__.user
    end
  RUBY
    class Current__N__ < ActiveSupport::CurrentAttributes; attribute :user; end
  SETUP

  habit :current_attributes_in_fiber, <<~'RUBY', setup: <<~'SETUP'
    Current__N__.user = __T__
    out << Enumerator.new { |y| __WAIT__; y << Current__N__.user.inspect }.next
    out << Fiber.new { __WAIT__; Current__N__.user.inspect }.resume
    Current__N__.reset
  RUBY
    class Current__N__ < ActiveSupport::CurrentAttributes; attribute :user; end
  SETUP

  habit :isolated_state, <<~'RUBY'
    ActiveSupport::IsolatedExecutionState[:hunt__N__] = __T__
    __WAIT__
    out << ActiveSupport::IsolatedExecutionState[:hunt__N__]
    out <<
      Enumerator.new { |y| y << ActiveSupport::IsolatedExecutionState[:hunt__N__].inspect }.next
    ActiveSupport::IsolatedExecutionState.delete(:hunt__N__)
  RUBY

  habit :thread_local_var, <<~'RUBY', setup: "VAR__N__ = Concurrent::ThreadLocalVar.new(\"none\")\n"
    VAR__N__.value = __T__
    __WAIT__
    out << VAR__N__.value
    VAR__N__.value = nil
  RUBY

  habit :thread_local_var_bound, <<~'RUBY', setup: <<~'SETUP'
    VAR__N__.bind(__T__) do
      __BODY__
      out << VAR__N__.value
    end
    out << VAR__N__.value
  RUBY
    VAR__N__ = Concurrent::ThreadLocalVar.new("none")
  SETUP

  habit :thread_local_var_in_fiber, <<~'RUBY', setup: <<~'SETUP'
    VAR__N__.bind(__T__) do
      out << Enumerator.new { |y| __WAIT__; y << VAR__N__.value.inspect }.next
    end
  RUBY
    VAR__N__ = Concurrent::ThreadLocalVar.new("none")
  SETUP

  habit :fiber_local_var, <<~'RUBY', setup: "FVAR__N__ = Concurrent::FiberLocalVar.new(\"none\")\n"
    FVAR__N__.bind(__T__) do
      __WAIT__
      out << FVAR__N__.value << Fiber.new { FVAR__N__.value }.resume
    end
  RUBY

  habit :reentrant_lock, <<~'RUBY', setup: "RW__N__ = Concurrent::ReentrantReadWriteLock.new\n"
    RW__N__.with_read_lock do
      __WAIT__
      RW__N__.with_read_lock { out << __T__ }
    end
    RW__N__.with_write_lock { __WAIT__; RW__N__.with_read_lock { out << __T__ } }
  RUBY

  habit :read_write_lock, <<~'RUBY', setup: "RWL__N__ = Concurrent::ReadWriteLock.new\n"
    RWL__N__.with_read_lock { __WAIT__; out << __T__ }
    RWL__N__.with_write_lock { __WAIT__; out << __T__ }
  RUBY

  habit :futures, <<~'RUBY'
    out << Concurrent::Promises.zip(
      *[1, 2].map { |n| Concurrent::Promises.future(n) { |m| Hunt.nap; m * 2 } }
    ).value!
    out << Concurrent::Future.execute { __WAIT__; __T__ }.value <<
      Concurrent::Delay.new { __WAIT__; __T__ }.value
  RUBY

  habit :concurrent_map, <<~'RUBY', setup: "MAP__N__ = Concurrent::Map.new\n"
    out << MAP__N__.compute_if_absent(id) { __WAIT__; __T__ } <<
      MAP__N__.fetch_or_store(id) { "another" }
    MAP__N__.delete(id)
  RUBY

  habit :semaphore, <<~'RUBY', setup: "SEMAPHORE__N__ = Concurrent::Semaphore.new(3)\n"
    SEMAPHORE__N__.acquire
    begin
      __WAIT__
      out << __T__
    ensure
      SEMAPHORE__N__.release
    end
  RUBY

  habit :latch, <<~'RUBY'
    latch__N__ = Concurrent::CountDownLatch.new(2)
    2.times { Thread.new { Hunt.nap; latch__N__.count_down } }
    out << latch__N__.wait(30)
  RUBY

  habit :locale, <<~'RUBY'
    I18n.with_locale(%i[en de fr][id.sum % 3]) do
      __BODY__
      out << I18n.locale
    end
  RUBY

  habit :locale_set, <<~'RUBY'
    I18n.locale = %i[en de fr][id.sum % 3]
    __WAIT__
    out << I18n.locale << Enumerator.new { |y| y << I18n.locale }.next
    I18n.locale = :en
  RUBY

  habit :time_zone, <<~'RUBY'
    Time.use_zone(["UTC", "Europe/Berlin", "Asia/Tokyo"][id.sum % 3]) do
      __WAIT__
      out << Time.zone.name
    end
  RUBY

  habit :tags, <<~'RUBY', setup: <<~'SETUP'
    LOG__N__.tagged(__T__) do
      __BODY__
      out << LOG__N__.formatter.current_tags
    end
  RUBY
    LOG__N__ = ActiveSupport::TaggedLogging.new(Logger.new(File::NULL))
  SETUP

  habit :notifications, <<~'RUBY'
    seen__N__ = []
    subscription__N__ = ->(name, *) { seen__N__ << name }
    ActiveSupport::Notifications.subscribed(subscription__N__, __T__) do
      ActiveSupport::Notifications.instrument(__T__) { __WAIT__ }
    end
    out << seen__N__
  RUBY

  habit :pooled, <<~'RUBY', setup: <<~'SETUP'
    POOL__N__.with do |client__N__|
      out << client__N__.ask(__T__)
      __BODY__
      out << POOL__N__.with { |again| again.equal?(client__N__) } << client__N__.ask(__T__)
    end
  RUBY
    POOL__N__ = ConnectionPool.new(size: 4, timeout: 60) { Hunt::Client.new }
  SETUP

  habit :pooled_in_enumerator, <<~'RUBY', setup: <<~'SETUP'
    each__N__ = Enumerator.new do |y|
      POOL__N__.with { |client| y << client.ask(__T__); y << client.ask("#{__T__} 2") }
    end
    out << each__N__.next << each__N__.next
    out << (each__N__.next rescue $!.class)
  RUBY
    POOL__N__ = ConnectionPool.new(size: 4, timeout: 60) { Hunt::Client.new }
  SETUP

  habit :silenced_logger, <<~'RUBY', setup: "SILENT__N__ = ActiveSupport::Logger.new(File::NULL)\n"
    SILENT__N__.silence(Logger::FATAL) do
      __BODY__
      out << SILENT__N__.level
    end
    out << SILENT__N__.level
  RUBY

  habit :silenced_deprecation, <<~'RUBY', setup: <<~'SETUP'
    DEPRECATION__N__.silence { __WAIT__; DEPRECATION__N__.warn("old"); out << __T__ }
    out << (DEPRECATION__N__.warn("old") rescue $!.class)
  RUBY
    DEPRECATION__N__ = ActiveSupport::Deprecation.new("2", "hunt")
    DEPRECATION__N__.behavior = :raise
  SETUP

  habit :cached, <<~'RUBY', setup: "CACHE__N__ = ActiveSupport::Cache::MemoryStore.new\n"
    out << CACHE__N__.fetch(id) { __WAIT__; __T__ } << CACHE__N__.fetch(id) { "other" }
    CACHE__N__.delete(id)
  RUBY

  habit :instrumented_in_enumerator, <<~'RUBY'
    seen__N__ = []
    ActiveSupport::Notifications.subscribed(->(name, *) { seen__N__ << name }, /\A#{id}\z/) do
      each__N__ = Enumerator.new do |y|
        ActiveSupport::Notifications.instrument(id) { __WAIT__; y << 1 }
      end
      out << each__N__.next << (each__N__.next rescue $!.class)
    end
    out << seen__N__
  RUBY

  habit :safely_once, <<~'RUBY', setup: <<~'SETUP'
    out << ONCE__N__.value.equal?(ONCE__N__.value) << (ATOMIC__N__.increment > 0) <<
      Concurrent::AtomicReference.new(1).update { |n| __WAIT__; n + 1 }
  RUBY
    ONCE__N__ = Concurrent::Delay.new { Hunt.nap; Object.new }
    ATOMIC__N__ = Concurrent::AtomicFixnum.new
  SETUP
end
