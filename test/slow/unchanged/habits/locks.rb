# frozen_string_literal: true

UnchangedHunt.kind :locks do
  habit :own_mutex, <<~'RUBY'
    mutex__N__ = Mutex.new
    mutex__N__.synchronize do
      __BODY__
      out << mutex__N__.owned? << mutex__N__.locked? << mutex__N__.try_lock
      out << (mutex__N__.lock rescue $!.class)
    end
  RUBY

  habit :shared_mutex, <<~'RUBY', setup: "LOCK__N__ = Mutex.new\n"
    LOCK__N__.synchronize { __WAIT__; out << __T__ }
  RUBY

  habit :mutex_in_enumerator, <<~'RUBY'
    mutex__N__ = Mutex.new
    mutex__N__.synchronize do
      out << Enumerator.new { |y| __WAIT__; y << mutex__N__.owned? }.next
      out << Fiber.new { __WAIT__; mutex__N__.try_lock }.resume
    end
    out << mutex__N__.locked?
  RUBY

  habit :own_monitor, <<~'RUBY'
    monitor__N__ = Monitor.new
    monitor__N__.synchronize do
      __BODY__
      monitor__N__.synchronize do
        __WAIT__
        out << monitor__N__.mon_owned? << monitor__N__.mon_locked?
      end
    end
  RUBY

  habit :shared_monitor, <<~'RUBY', setup: "MONITOR__N__ = Monitor.new\n"
    MONITOR__N__.synchronize { __WAIT__; MONITOR__N__.synchronize { __WAIT__; out << __T__ } }
  RUBY

  habit :monitor_in_enumerator, <<~'RUBY'
    monitor__N__ = Monitor.new
    monitor__N__.synchronize do
      out << Enumerator.new { |y| monitor__N__.synchronize { __WAIT__; y << __T__ } }.next
    end
  RUBY

  habit :monitor_in_fiber, <<~'RUBY', setup: "MONITOR__N__ = Monitor.new\n"
    MONITOR__N__.synchronize do
      out << Fiber.new { MONITOR__N__.synchronize { __WAIT__; __T__ } }.resume
    end
  RUBY

  habit :monitor_half_way, <<~'RUBY'
    monitor__N__ = Monitor.new
    each__N__ = Enumerator.new { |y| monitor__N__.synchronize { y << __T__; __WAIT__; y << 2 } }
    out << each__N__.next << each__N__.next << (each__N__.next rescue $!.class)
    out << monitor__N__.synchronize { __T__ }
  RUBY

  habit :monitor_mixin, <<~'RUBY', setup: <<~'SETUP'
    out << GUARDED__N__.twice(__T__, -> { __WAIT__ })
  RUBY
    class Guarded__N__
      include MonitorMixin
      def twice(text, wait) = synchronize { wait.call; synchronize { text * 2 } }
    end
    GUARDED__N__ = Guarded__N__.new
  SETUP

  habit :queue, <<~'RUBY'
    queue__N__ = Queue.new
    Thread.new { 3.times { |n| Hunt.nap; queue__N__ << "#{n}#{__T__}" }; queue__N__.close }
    out << Array.new(4) { queue__N__.pop.inspect } << queue__N__.closed? << queue__N__.empty?
  RUBY

  habit :sized_queue, <<~'RUBY'
    queue__N__ = SizedQueue.new(1)
    thread__N__ = Thread.new { 3.times { |n| queue__N__ << n } }
    __WAIT__
    out << Array.new(3) { queue__N__.pop } << thread__N__.join.class <<
      (queue__N__.pop(true) rescue $!.class)
  RUBY

  habit :condition, <<~'RUBY'
    mutex__N__ = Mutex.new
    condition__N__ = ConditionVariable.new
    ready__N__ = false
    Thread.new { Hunt.nap; mutex__N__.synchronize { ready__N__ = true; condition__N__.signal } }
    mutex__N__.synchronize { condition__N__.wait(mutex__N__) until ready__N__ }
    out << ready__N__ << mutex__N__.locked?
  RUBY

  habit :condition_of_monitor, <<~'RUBY'
    monitor__N__ = Monitor.new
    condition__N__ = monitor__N__.new_cond
    ready__N__ = false
    Thread.new do
      Hunt.nap
      monitor__N__.synchronize { ready__N__ = true; condition__N__.broadcast }
    end
    monitor__N__.synchronize do
      monitor__N__.synchronize { condition__N__.wait_until { ready__N__ } }
    end
    out << ready__N__ << monitor__N__.mon_locked?
  RUBY

  habit :mutex_sleep, <<~'RUBY'
    mutex__N__ = Mutex.new
    mutex__N__.synchronize { out << mutex__N__.sleep(0.001) << mutex__N__.owned? }
  RUBY

  habit :counter, <<~'RUBY', setup: "LOCK__N__ = Mutex.new\n"
    sum__N__ = 0
    threads__N__ = Array.new(3) do
      Thread.new do
        5.times { LOCK__N__.synchronize { seen = sum__N__; Hunt.spin(200); sum__N__ = seen + 1 } }
      end
    end
    threads__N__.each(&:join)
    out << sum__N__
  RUBY

  habit :lock_given_by_error, <<~'RUBY', setup: "LOCK__N__ = Mutex.new\n"
    begin
      LOCK__N__.synchronize { __WAIT__; raise KeyError, __T__ }
    rescue KeyError
      out << LOCK__N__.synchronize { __T__ }
    end
  RUBY
end
