# frozen_string_literal: true

# What is kept for "the thread".

UnchangedHunt.kind :threads do
  habit :thread_local, <<~'RUBY'
    Thread.current[:hunt__N__] = __T__
    __WAIT__
    out << Thread.current[:hunt__N__]
    __WAIT__
    out << Thread.current.key?(:hunt__N__) << Thread.current[:hunt__N__]
    Thread.current[:hunt__N__] = nil
  RUBY

  habit :thread_local_around, <<~'RUBY'
    Thread.current[:hunt__N__] = __T__
    begin
      __BODY__
      out << Thread.current[:hunt__N__]
    ensure
      Thread.current[:hunt__N__] = nil
    end
  RUBY

  habit :thread_local_in_fiber, <<~'RUBY'
    Thread.current[:hunt__N__] = __T__
    out << Fiber.new { __WAIT__; Thread.current[:hunt__N__].inspect }.resume
    out << Enumerator.new { |y| __WAIT__; y << Thread.current[:hunt__N__].inspect }.next
    Thread.current[:hunt__N__] = nil
  RUBY

  habit :thread_variable, <<~'RUBY'
    Thread.current.thread_variable_set(:hunt__N__, __T__)
    __WAIT__
    out << Thread.current.thread_variable_get(:hunt__N__) <<
      Thread.current.thread_variable?(:hunt__N__)
    __WAIT__
    out << Thread.current.thread_variable_get(:hunt__N__)
  RUBY

  habit :thread_variable_around, <<~'RUBY'
    Thread.current.thread_variable_set(:hunt__N__, __T__)
    __BODY__
    out << Thread.current.thread_variable_get(:hunt__N__)
  RUBY

  habit :thread_variable_in_fiber, <<~'RUBY'
    Thread.current.thread_variable_set(:hunt__N__, __T__)
    out << Fiber.new { __WAIT__; Thread.current.thread_variable_get(:hunt__N__) }.resume
    out << Enumerator.new { |y| __WAIT__; y << Thread.current.thread_variable_get(:hunt__N__) }.next
  RUBY

  habit :thread_attribute, <<~'RUBY', setup: "class ::Thread; attr_accessor :hunt__N__; end\n"
    Thread.current.hunt__N__ = __T__
    __WAIT__
    out << Thread.current.hunt__N__
  RUBY

  habit :thread_instance_variable, <<~'RUBY'
    Thread.current.instance_variable_set(:@hunt__N__, __T__)
    __WAIT__
    out << Thread.current.instance_variable_get(:@hunt__N__)
  RUBY

  habit :object_by_thread, <<~'RUBY', setup: <<~'SETUP'
    BY_THREAD_LOCK__N__.synchronize { BY_THREAD__N__[Thread.current] = __T__ }
    __WAIT__
    out << BY_THREAD_LOCK__N__.synchronize { BY_THREAD__N__[Thread.current] }
  RUBY
    BY_THREAD__N__ = {}.compare_by_identity
    BY_THREAD_LOCK__N__ = Mutex.new
  SETUP

  habit :object_by_thread_id, <<~'RUBY', setup: "BY_ID__N__ = {}\nBY_ID_LOCK__N__ = Mutex.new\n"
    BY_ID_LOCK__N__.synchronize { BY_ID__N__[Thread.current.object_id] = __T__ }
    __WAIT__
    out << BY_ID_LOCK__N__.synchronize { BY_ID__N__.delete(Thread.current.object_id) }
  RUBY

  habit :client_by_thread_local, <<~'RUBY'
    client__N__ = Thread.current[:hunt_client__N__] ||= Hunt::Client.new
    out << client__N__.ask(__T__)
    __WAIT__
    out << Thread.current[:hunt_client__N__].ask(__T__)
  RUBY

  habit :client_by_thread_variable, <<~'RUBY'
    client__N__ = Thread.current.thread_variable_get(:hunt_client__N__) ||
                  Hunt::Client.new.tap { |made|
                    Thread.current.thread_variable_set(:hunt_client__N__, made)
                  }
    out << client__N__.ask(__T__)
    __WAIT__
    out << Thread.current.thread_variable_get(:hunt_client__N__).ask(__T__)
  RUBY

  habit :thread_is_the_same, <<~'RUBY'
    thread__N__ = Thread.current
    __WAIT__
    out << thread__N__.equal?(Thread.current) << thread__N__.alive? << thread__N__.status
    __WAIT__
    out << Fiber.new { thread__N__.equal?(Thread.current) }.resume
  RUBY

  habit :thread_name, <<~'RUBY'
    Thread.current.name = __T__
    __WAIT__
    out << Thread.current.name
  RUBY

  habit :thread_report, <<~'RUBY'
    Thread.current.report_on_exception = false
    __WAIT__
    out << Thread.current.report_on_exception
    Thread.current.report_on_exception = true
  RUBY

  habit :thread_local_of_children, <<~'RUBY'
    Thread.current[:hunt__N__] = __T__
    out << Thread.new { __WAIT__; Thread.current[:hunt__N__].inspect }.value
    threads__N__ = Array.new(2) do |n|
      Thread.new { Thread.current[:hunt__N__] = n; __WAIT__; Thread.current[:hunt__N__] }
    end
    out << threads__N__.map(&:value)
    Thread.current[:hunt__N__] = nil
  RUBY

  habit :thread_fetch, <<~'RUBY'
    Thread.current[:hunt__N__] = __T__
    __WAIT__
    out << Thread.current.fetch(:hunt__N__, "none") << Thread.current.keys.include?(:hunt__N__)
    Thread.current[:hunt__N__] = nil
  RUBY

  habit :in_a_thread, <<~'RUBY'
    Thread.new do
      __BODY__
    end.join
  RUBY

  habit :thread_that_raises, <<~'RUBY'
    thread__N__ = Thread.new do
      Thread.current.report_on_exception = false
      __WAIT__
      raise KeyError, __T__
    end
    begin
      thread__N__.value
    rescue KeyError => e
      out << e.message << thread__N__.status.inspect
    end
  RUBY

  habit :random_of_the_request, <<~'RUBY'
    random__N__ = Random.new(id.sum)
    __WAIT__
    out << random__N__.rand(1_000) << [1, 2, 3].shuffle(random: random__N__)
  RUBY

  habit :interrupts_off, <<~'RUBY'
    Thread.handle_interrupt(Timeout::Error => :never) do
      __BODY__
      out << Thread.pending_interrupt?
    end
  RUBY

  habit :thread_local_from_outside, <<~'RUBY'
    thread__N__ = Thread.current
    thread__N__[:hunt__N__] = __T__
    out << Thread.new { __WAIT__; thread__N__[:hunt__N__] }.value
    thread__N__[:hunt__N__] = nil
  RUBY

  habit :thread_variable_from_outside, <<~'RUBY'
    thread__N__ = Thread.current
    thread__N__.thread_variable_set(:hunt__N__, __T__)
    out << Thread.new { __WAIT__; thread__N__.thread_variable_get(:hunt__N__) }.value
  RUBY

  habit :woken_thread, <<~'RUBY'
    thread__N__ = Thread.current
    Thread.new { sleep 0.05; thread__N__.wakeup }
    began__N__ = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    sleep 6
    out << (Process.clock_gettime(Process::CLOCK_MONOTONIC) - began__N__ < 4)
  RUBY

  habit :raised_in_thread, <<~'RUBY'
    thread__N__ = Thread.current
    Thread.new { sleep 0.05; thread__N__.raise(KeyError, __T__) }
    begin
      sleep 6
      out << "not raised"
    rescue KeyError => e
      out << e.message
    end
  RUBY

  habit :thread_backtrace, <<~'RUBY'
    thread__N__ = Thread.current
    out <<
      Thread.new { thread__N__.backtrace.to_a.any? { |line| line.include?("answer") } }.value <<
      thread__N__.backtrace.any? { |line| line.include?("answer") }
  RUBY

  habit :thread_group, <<~'RUBY'
    out <<
      ThreadGroup.new.then { |group| group.add(Thread.new { Hunt.nap }).list.each(&:join).class } <<
      Thread.list.include?(Thread.current)
  RUBY
end
