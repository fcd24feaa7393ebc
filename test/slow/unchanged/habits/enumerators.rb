# frozen_string_literal: true

UnchangedHunt.kind :enumerators do
  habit :next, <<~'RUBY'
    each__N__ = Enumerator.new do |y|
      __BODY__
      y << __T__
      __WAIT__
      y << 2
    end
    out << each__N__.next
    __WAIT__
    out << each__N__.next << (each__N__.next rescue $!.class)
  RUBY

  habit :peek, <<~'RUBY'
    each__N__ = [1, 2, 3].each
    out << each__N__.peek
    __WAIT__
    out << each__N__.next << each__N__.next
    each__N__.rewind
    out << each__N__.next << each__N__.size
  RUBY

  habit :half_way, <<~'RUBY'
    each__N__ = Enumerator.new do |y|
      y << __T__
      __WAIT__
      y << 2
    ensure
      Hunt.spin(1)
    end
    out << each__N__.next
  RUBY

  habit :lazy, <<~'RUBY'
    out <<
      (1..Float::INFINITY).lazy.map { |n| __WAIT__; n * 2 }.select { |n| (n % 3).zero? }.first(2)
    out << (1..3).lazy.map { |n| "#{n}#{__T__}" }.eager.next
  RUBY

  habit :lazy_around, <<~'RUBY'
    (1..9).lazy.map do |n__N__|
      __BODY__
      n__N__
    end.first(2)
  RUBY

  habit :produce, <<~'RUBY'
    each__N__ = Enumerator.produce([0, 1]) { |a, b| __WAIT__; [b, a + b] }
    out << each__N__.next << each__N__.next << each__N__.take(4)
  RUBY

  habit :zip, <<~'RUBY'
    out << [1, 2, 3].each.zip(Enumerator.new { |y| 3.times { |n| __WAIT__; y << "#{n}#{__T__}" } })
  RUBY

  habit :chain, <<~'RUBY'
    chain__N__ = [1].each + Enumerator.new { |y| __WAIT__; y << __T__ }
    out << chain__N__.next << chain__N__.next << chain__N__.with_index.to_a
  RUBY

  habit :stop_iteration, <<~'RUBY'
    each__N__ = Enumerator.new { |y| y << 1; __WAIT__; :ended }
    out << loop { out << each__N__.next }
  RUBY

  habit :feed, <<~'RUBY'
    each__N__ = [1, 2, 3].map
    out << each__N__.next
    each__N__.feed(__T__)
    __WAIT__
    out << each__N__.next
    each__N__.feed(2)
    out << each__N__.next << (loop { each__N__.next })
  RUBY

  habit :next_that_raises, <<~'RUBY'
    each__N__ = Enumerator.new { |y| y << 1; __WAIT__; raise KeyError, __T__ }
    out << each__N__.next
    begin
      each__N__.next
    rescue KeyError => e
      out << e.message
    end
    out << each__N__.next
  RUBY

  habit :nested_next, <<~'RUBY'
    outer__N__ = Enumerator.new do |y|
      inner__N__ = Enumerator.new { |z| 3.times { |n| __WAIT__; z << "#{n}#{__T__}" } }
      loop { y << inner__N__.next }
      __WAIT__
      y << :last
    end
    out << outer__N__.next << outer__N__.next << outer__N__.take(4)
  RUBY

  habit :next_in_another_thread, <<~'RUBY'
    each__N__ = Enumerator.new { |y| y << 1; __WAIT__; y << 2 }
    out << each__N__.next
    out << Thread.new { each__N__.next rescue $!.class }.value
  RUBY

  habit :external_lines, <<~'RUBY'
    lines__N__ = StringIO.new("a\nb\n#{__T__}\n").each_line
    out << lines__N__.next
    __WAIT__
    out << lines__N__.next << lines__N__.next
  RUBY

  habit :external_folder, <<~'RUBY'
    names__N__ = Dir.each_child(__dir__)
    out << names__N__.next.class
    __WAIT__
    out << names__N__.class
  RUBY
end
