# frozen_string_literal: true

# The computations of the race hunt's requests. Each kind is a place where a time slice may end,
# most of them a block or a method that C calls. A value depends only on the kind and the size, so
# the client knows it beforehand.

require "erb"
require "json"
require "monitor"
require "set"
require "stringio"
require "timeout"

module StallsHunt
  module Work
    # One that is compared, counted up, converted and written by methods in Ruby, which C calls.
    class Number
      include Comparable

      attr_reader :to_i

      def initialize(number) = @to_i = number
      def <=>(other) = Work.turn(to_i) <=> Work.turn(other.to_i)
      def succ = Number.new(to_i + (Work.spin(3) * 0) + 1)
      def hash = Work.spin(3) && to_i.hash
      def eql?(other) = Work.spin(3) && to_i == other.to_i
      def coerce(other) = [other, Work.spin(3) && to_i]
      def to_int = Work.spin(3) && to_i
      def to_str = Work.spin(3) && to_i.to_s
      def to_s = to_str
      def to_ary = Work.spin(3) && [to_i, to_i + 1]
      def to_proc = ->(value) { Work.spin(3) && (value * to_i) }
      def to_json(*) = Work.spin(3) && to_i.to_s
      def marshal_dump = Work.spin(3) && to_i
      def marshal_load(number) = @to_i = Work.spin(3) && number
      def method_missing(name, *) = Work.spin(3) && "#{name}#{to_i}"
      def respond_to_missing?(name, *) = name.to_s.start_with?("x")
    end

    PAGE = ERB.new(
      "<% rows.each do |row| %><p><%= StallsHunt::Work.spin(row % 3) %>-<%= row %></p><% end %>"
    )

    module_function

    # @return [Array<String>] all kinds
    def names
      @names ||= singleton_methods(false).map(&:to_s).grep(/\Aa_/).sort.freeze
    end

    # @param name [String] of names
    # @param size [Integer] from 1; each is some half of a millisecond, more or less
    # @return [Integer] the same for the same arguments
    def value(name, size)
      digest(public_send(name, size))
    end

    # A number for what is made of arrays, strings and numbers.
    def digest(found)
      found.to_s.each_byte.inject(found.to_s.size) { |sum, byte| ((sum * 31) + byte) & 0xffff_ffff }
    end

    def spin(count)
      count *= 4
      sum = 0
      while count.positive?
        count -= 1
        sum += count
      end
      sum
    end

    # A fixed disorder.
    def turn(number) = (number * 7919) % 10_007
    def numbers(count) = Array.new(count) { |index| Number.new(index) }

    def a_loop(size) = spin(size * 4_000)
    def a_sort_by(size) = Array.new(size * 600) { |n| n }.sort_by { |n| turn(n) }

    def a_sort(size)
      Array.new(size * 150) { |n| turn(n) }.sort { |a, b| spin(2) && (b <=> a) }.sort!
    end

    def a_range(size) = (Number.new(1)..Number.new(size * 20)).map(&:to_i)

    def a_scan(size)
      [].tap do |all|
        ("a1b22c333" * size * 15).scan(/([a-z])(\d+)/) do |letter, digits|
          all << (letter * digits.size) << spin(40)
        end
      end
    end

    def a_split(size)
      ("a,b;c" * size * 60).split(/[,;]/).each_with_index.map { |part, at| part * (at % 5) }
    end

    def a_lazy(size)
      (1..Float::INFINITY).lazy.map { |n| spin(9) && (n * 2) }.select { |n| (n % 3).zero? }
                          .flat_map { |n| [n, n] }.uniq.first(size * 40)
    end

    def a_zip(size)
      spun = Array.new(size * 60) { |n| spin(20) + n }
      (1..size * 60).each_entry.zip((3..).each_entry.lazy, spun).last(20)
    end

    def a_bignum(size)
      (1..size * 4).inject(3**500) { |n, by| ((n * n) + by) % (7**900) }.then do |n|
        [Integer.sqrt(n), n.pow(65_537, 10**40), n.to_s.size]
      end
    end

    def a_default(size)
      sums = Hash.new do |hash, n|
        hash[n] = n < 2 ? n : (hash[n - 1] + hash[n - 2] + spin(60)) % 1_000_003
      end
      (1..size * 60).map { |n| sums[n] }
    end

    def a_coerce(size)
      (1..size * 200).map do |n|
        [1 + Number.new(n), Integer(Number.new(n)), Array(Number.new(n)),
         "x".ljust(Number.new(n % 30))]
      end
    end

    def a_format(size)
      (1..size * 150).map { |n| format("%s %d|#{Number.new(n)}", Number.new(n), Number.new(n)) }
    end

    def a_catch(size)
      (1..size * 150).map do |n|
        catch(:out) { [[n]].each { |inner| inner.each { |m| spin(30) && throw(:out, m * 2) } } }
      end
    end

    def a_json(size)
      JSON.generate(numbers(size * 60)).then do |text|
        JSON.parse(text, object_class: Hash).sum + JSON.parse(%({"a":[#{text}]})).size
      end
    end

    def a_page(size) = PAGE.result_with_hash(rows: (1..size * 60).to_a)

    def a_marshal(size)
      Marshal.load(Marshal.dump(numbers(size * 60)), ->(found) { spin(20) && found }).map(&:to_i)
    end

    def a_set(size) = (Set.new(numbers(size * 50)) | numbers(size * 60)).map(&:to_i).sort.last(30)

    def a_group(size)
      (1..size * 300).group_by { |n| spin(9) + (n % 7) }.transform_values(&:sum)
                     .merge({ 36 => 1 }) { |_, one, other| spin(30) + one + other }
    end

    def a_missing(size)
      (1..size * 150).map { |n| Number.new(n).public_send(:"x#{n % 9}") + Number.new(n).xyz }
    end

    def a_flatten(size) = [numbers(size * 60), [numbers(size * 20)]].flatten.first(100)

    def a_permutation(size)
      [].tap { |all| (1..5).to_a.permutation { |some| spin(size * 20) && (all << some.first) } }
    end

    def a_product(size)
      [].tap do |all|
        (1..12).to_a.product((1..size * 2).to_a) { |a, b| spin(30) && (all << (a * b)) }
      end
    end

    def a_removal(size)
      (1..size * 300).to_a.tap do |all|
        all.delete_if { |n| spin(9) && (n % 3).zero? }.select! { |n| spin(9) && n.odd? }
      end
    end

    def a_proc(size)
      (1..size * 200).map(&Number.new(3)).map(&:to_s).map(&:to_sym).map(&:to_proc).size
    end

    def a_lines(size)
      StringIO.new("line\n" * size * 80).each_line.with_index.map do |line, at|
        spin(20) && (line * (at % 3))
      end
    end

    def a_class(size)
      (1..size * 3).map do |n|
        Class.new(Number) { define_method(:twice) { Work.spin(60) && (to_i * 2) } }.new(n).twice
      end
    end

    # Only constants are evaluated.
    def a_eval(size)
      (1..size * 6).map do |n|
        eval("spin(40) && #{n} + n", binding, __FILE__, __LINE__) # rubocop:disable Security/Eval
      end
    end

    def a_block_in_c(size)
      (1..size * 40).each_slice(7).flat_map do |some|
        some.each_cons(2).map { |a, b| some.bsearch { |n| spin(9) && n >= a }.to_i + b }
      end
    end

    def a_chain(size) = ((1..size * 50).each_entry + (1..9).each_entry).map { |n| spin(40) + n }

    def a_tally(size)
      (1..size * 200).map { |n| Number.new(turn(n) % 9) }.tally
                     .map { |number, count| [number.to_i, count] }.sort
    end

    def a_weak(size)
      ObjectSpace::WeakMap.new.then do |map|
        Array.new(size * 60) { |n| +"#{n}#{spin(9)}" }.each { |key| map[key] = key }.count do |key|
          map[key]
        end
      end
    end

    def a_random(size)
      Random.new(size).then do |random|
        Array.new(size * 200) { |n| n }.shuffle(random: random).sum { |n| n * random.rand(9) }
      end
    end

    def a_comparable(size)
      all = numbers(size * 60)
      [all.min, all.max, *all.sort.first(9), all[3].clamp(*[all[5], all[9]].sort),
       *(all[1] if all[2].between?(all[1], all[7]))].map(&:to_i)
    end

    # What a method has matched stays its own, also in blocks that C calls.
    def a_gsub(size)
      text = "ab-cd-ef-" * size * 20
      text =~ /cd/
      replaced = text.gsub(/[a-z]+/) { |word| spin(40) && (word.capitalize + $~.begin(0).to_s) }
      [replaced, $~[0], $~.end(0)]
    end

    def a_gsub_hash(size)
      ("abc" * size * 60).gsub(/[a-c]/, Hash.new { |_, letter| spin(60) && letter.succ })
    end

    # Enumerators asked from outside, one in the body of the other.
    def inner(count) = Enumerator.new { |out| count.times { |n| out << (spin(80) + n) } }

    def a_nested_enumerator(size)
      outer = Enumerator.new do |out|
        size.times do |n|
          inner = inner(6)
          6.times { out << (inner.next + n) }
        end
      end
      found = Array.new(size * 6) { outer.peek && (outer.next + spin(40)) }
      [found, (outer.next rescue $!.class)] # rubocop:disable Style/RescueModifier -- short
    end

    def a_generator(size)
      Enumerator.produce([1, 1]) { |a, b| spin(60) && [b, (a + b) % 10_007] }.lazy.map(&:first)
                .each_with_index.first(size * 40)
    end

    # Fibers of one's own, three deep, and two that transfer.
    def a_fiber(size)
      innermost = Fiber.new { |n| loop { n = Fiber.yield(spin(60) + n) } }
      inner = Fiber.new { |n| loop { n = Fiber.yield(innermost.resume(n) * 2) } }
      outer = Fiber.new { |n| loop { n = Fiber.yield(inner.resume(n) + spin(40)) } }
      [Array.new(size * 12) { |n| outer.resume(n) }, a_transfer(size)]
    end

    def a_transfer(size)
      home = Fiber.current
      other = Fiber.new { |n| loop { n = home.transfer(spin(60) + n) } }
      Array.new(size * 12) { |n| other.transfer(n) }
    end

    def a_raise(size)
      steps = []
      (size * 20).times do |n|
        spin(60)
        raise IOError, n.to_s
      rescue IOError => e
        steps << (spin(60) && $!.equal?(e)) << e.message
      ensure
        steps << (spin(60) && n)
      end
      [steps, $!]
    end

    def a_retry(size)
      left = size * 15
      begin
        raise KeyError if spin(200) && (left -= 1).positive?
      rescue KeyError
        retry
      end
      left
    end

    # The locks of one request.
    def a_monitor(size)
      monitor = Monitor.new
      (1..size * 30).sum do |n|
        monitor.synchronize do
          spin(30) && monitor.synchronize { monitor.try_enter && spin(60) && (monitor.exit || n) }
        end
      end
    end

    def a_timeout(size)
      (1..size * 8).sum { |n| Timeout.timeout(600) { Timeout.timeout(500) { spin(300) && n } } }
    end

    # Code that watches code.
    def a_trace(size)
      seen = 0
      fiber = Fiber.current
      TracePoint.new(:call) { |point|
        seen += 1 if spin(3) && point.method_id == :turn && Fiber.current.equal?(fiber)
      }.enable { (size * 40).times { |n| turn(n) } }
      seen >= size * 40
    end

    # Walks the heap, where it finds objects of other requests too. Only one walk at a time: on
    # threads, overlapping walks crash Ruby (gc.c, objspace_each_objects).
    def a_heap(size)
      found = 0
      HEAP.synchronize do
        ObjectSpace.each_object(Class) do |klass|
          found += 1 if spin(9) && klass <= Number && found < size
        end
      end
      found.positive?
    end
    HEAP = Mutex.new

    def a_finalizer(size)
      Array.new(size * 20) { |n| ObjectSpace.define_finalizer(+"#{n}", FINALIZER) && spin(60) }.size
    end
    FINALIZER = ->(_id) { Work.spin(30) }

    # Nothing that masks interrupts may be left; what is around it may.
    def a_mask(size)
      (1..size * 30).sum { |n|
        Thread.handle_interrupt(RuntimeError => :never) {
          spin(30) && Thread.handle_interrupt(RuntimeError => :immediate) { spin(60) && n }
        }
      }
    end

    def a_region(size)
      (1..size * 30).sum { |n| spin(60) && NeverBlock.uninterrupted { spin(30) && n } }
    end
  end
end
