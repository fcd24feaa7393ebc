# frozen_string_literal: true

# Fibers that the application makes.

UnchangedHunt.kind :fibers do
  habit :fiber, <<~'RUBY'
    fiber__N__ = Fiber.new do |n|
      __BODY__
      n = Fiber.yield(n + 1)
      __WAIT__
      n + 2
    end
    out << fiber__N__.resume(1)
    __WAIT__
    out << fiber__N__.resume(10) << fiber__N__.alive?
  RUBY

  habit :blocking_fiber, <<~'RUBY'
    fiber__N__ = Fiber.new(blocking: true) do
      __BODY__
      Fiber.yield(__T__)
      __WAIT__
      2
    end
    out << fiber__N__.resume << fiber__N__.resume
  RUBY

  habit :fiber_raise, <<~'RUBY'
    fiber__N__ = Fiber.new do
      Fiber.yield(1)
    rescue KeyError => e
      __WAIT__
      e.message
    end
    out << fiber__N__.resume << fiber__N__.raise(KeyError, __T__)
  RUBY

  habit :fiber_that_raises, <<~'RUBY'
    begin
      Fiber.new { __WAIT__; raise KeyError, __T__ }.resume
    rescue KeyError => e
      out << e.message << $!.equal?(e)
    end
  RUBY

  habit :fiber_half_way, <<~'RUBY'
    out << Fiber.new { Fiber.yield(__T__); 2 }.resume
  RUBY

  habit :fiber_transfer, <<~'RUBY'
    home__N__ = Fiber.current
    other__N__ = Fiber.new { |n| loop { __WAIT__; n = home__N__.transfer(n * 2) } }
    out << other__N__.transfer(1) << other__N__.transfer(4)
  RUBY

  habit :fiber_dead, <<~'RUBY'
    fiber__N__ = Fiber.new { __WAIT__ }
    fiber__N__.resume
    out << (fiber__N__.resume rescue $!.class) << (Fiber.yield rescue $!.class)
  RUBY

  habit :fibers_in_turn, <<~'RUBY'
    fibers__N__ = Array.new(3) do |n|
      Fiber.new { 2.times { |m| __WAIT__; Fiber.yield("#{n}#{m}") }; :done }
    end
    out << Array.new(3) { fibers__N__.map(&:resume) }
  RUBY

  habit :fiber_across_threads, <<~'RUBY'
    fiber__N__ = Fiber.new { Fiber.yield(1); 2 }
    out << fiber__N__.resume << Thread.new { fiber__N__.resume rescue $!.class }.value
  RUBY

  habit :fiber_with_throw, <<~'RUBY'
    out <<
      catch(:hunt__N__) { Fiber.new { __WAIT__; (throw :hunt__N__, 1) rescue $!.class }.resume }
  RUBY

  habit :middleware_in_a_fiber, <<~'RUBY'
    around__N__ = ->(inner) { Fiber.new { inner.call }.resume }
    around__N__.call(lambda do
      __BODY__
    end)
  RUBY
end
