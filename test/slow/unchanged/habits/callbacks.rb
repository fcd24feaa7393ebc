# frozen_string_literal: true

# Blocks and methods that C calls.

UnchangedHunt.kind :callbacks do
  {
    each: "[1].each do", map: "[1].map do", sort_by: "[2].sort_by do", group_by: "[1].group_by do",
    inject: "[1, 2].inject do", each_with_object: "[1].each_with_object([]) do",
    times: "1.times do", upto: "1.upto(1) do", step: "1.step(1) do", hash_each: "{ a: 1 }.each do",
    transform_values: "{ a: 1 }.transform_values do",
    array_new: "Array.new(1) do", tap: "1.tap do", instance_eval: "Object.new.instance_eval do",
    instance_exec: "Object.new.instance_exec(1) do",
    class_exec: "Class.new.class_exec do", sub: "\"x\".sub(/x/) do", gsub: "\"x\".gsub(/x/) do",
    scan: "\"x\".scan(/x/) do", each_char: "\"x\".each_char do",
    each_slice: "[1].each_slice(2) do", combination: "[1].combination(1) do",
    delete_if: "[1].delete_if do", find: "[1].find do", sum: "[0].sum do", catch: "catch do",
    loop_once: "1.step do", open_file: "File.open(File::NULL) do",
    string_io: "StringIO.open(\"x\") do", tempfile: "Tempfile.create(\"hunt\") do",
    synchronize: "Mutex.new.synchronize do", method_object: "[1].each(&proc do",
    fetch: "{}.fetch(1) do", default: "Hash.new do", bsearch: "[1].bsearch do", lambda: "lambda do",
    pipe: "IO.pipe do", spawn_thread: "Thread.new do"
  }.except(:loop_once, :method_object, :default, :lambda, :spawn_thread).each do |name, opening|
    own = { inject: "sum__N__ = 0", bsearch: "true", sum: "0", delete_if: "false", sub: "\"y\"",
            gsub: "\"y\"", sort_by: "1" }.fetch(name, "nil")
    habit :"in_#{name}", "#{opening}\n  __BODY__\n  out << __T__\n  #{own}\nend\n"
  end

  habit :sort_block, <<~'RUBY'
    out << [3, 1, 2].sort { |a, b| __WAIT__; a <=> b } << [3, 1, 2].max_by { |n| __WAIT__; n } <<
      [1, 2].sum { |n| __WAIT__; n }
  RUBY

  habit :comparable, <<~'RUBY'
    ordered__N__ = [3, 1, 2].map { |n| Hunt::Ordered.new(n) { __WAIT__; true } }
    out << ordered__N__.sort.map(&:number) << ordered__N__.max.number <<
      ordered__N__[0].clamp(ordered__N__[1], ordered__N__[2]).number
  RUBY

  habit :conversions, <<~'RUBY'
    ordered__N__ = Hunt::Ordered.new(3) { __WAIT__; true }
    out << "#{ordered__N__}" << (1 + ordered__N__) << ordered__N__.hunt_it <<
      format("%s", ordered__N__) << [ordered__N__].join("-")
  RUBY

  habit :defined_method, <<~'RUBY', setup: <<~'SETUP'
    out << Defined__N__.new.twice(__T__, -> { __WAIT__ })
  RUBY
    class Defined__N__
      define_method(:twice) { |text, wait| wait.call; text * 2 }
    end
  SETUP

  habit :default_proc, <<~'RUBY'
    hash__N__ = Hash.new { |hash, key| __WAIT__; hash[key] = "#{key}#{__T__}" }
    out << hash__N__[:a] << hash__N__.fetch(:a) << hash__N__.dig(:b)
  RUBY

  habit :marshal_callbacks, <<~'RUBY', setup: <<~'SETUP'
    out <<
      Marshal.load(Marshal.dump([Dumped__N__.new(__T__)]), ->(found) { __WAIT__; found }).first.text
  RUBY
    class Dumped__N__
      attr_reader :text
      def initialize(text) = @text = text
      def marshal_dump = Hunt.nap && [@text]
      def marshal_load(found) = Hunt.nap && (@text = found.first)
    end
  SETUP

  habit :json_callbacks, <<~'RUBY', setup: <<~'SETUP'
    out << JSON.generate([Json__N__.new(__T__), { a: Json__N__.new(__T__) }]) <<
      JSON.parse("[1,{\"a\":\"#{__T__}\"}]")
  RUBY
    class Json__N__
      def initialize(text) = @text = text
      def to_json(*) = Hunt.nap && @text.to_json
    end
  SETUP

  habit :hash_keys, <<~'RUBY', setup: <<~'SETUP'
    out << { Key__N__.new(1) => __T__, Key__N__.new(2) => 2 }[Key__N__.new(1)] <<
      [Key__N__.new(1), Key__N__.new(1)].uniq.size
  RUBY
    class Key__N__
      attr_reader :number
      def initialize(number) = @number = number
      def hash = Hunt.spin(500) && number.hash
      def eql?(other) = Hunt.nap && number == other.number
    end
  SETUP

  habit :missing_constant, <<~'RUBY', setup: <<~'SETUP'
    out << Missing__N__::Something << __T__
  RUBY
    class Missing__N__
      def self.const_missing(name) = Hunt.nap && name
    end
  SETUP

  habit :inherited, <<~'RUBY', setup: <<~'SETUP'
    out << Class.new(Inherited__N__).const_get(:MADE) << __T__
  RUBY
    class Inherited__N__
      def self.inherited(child)
        super
        Hunt.nap
        child.const_set(:MADE, 1)
      end
    end
  SETUP

  habit :glob_lines, <<~'RUBY'
    File.foreach(__FILE__).first(2).each { |line| __WAIT__; out << line.size }
  RUBY

  habit :tracepoint, <<~'RUBY'
    seen__N__ = 0
    mine__N__ = Thread.current
    TracePoint.new(:raise) { |point|
      seen__N__ += 1 if point.raised_exception.message == __T__
    }.enable(target_thread: nil) do
      raise KeyError, __T__
    rescue KeyError
      __WAIT__
    end
    out << seen__N__ << mine__N__.equal?(Thread.current)
  RUBY

  habit :object_space, <<~'RUBY'
    weak__N__ = ObjectSpace::WeakMap.new
    key__N__ = __T__
    weak__N__[key__N__] = key__N__
    __WAIT__
    out << weak__N__[key__N__]
  RUBY

  habit :refine_and_bind, <<~'RUBY'
    bound__N__ = binding
    bound__N__.local_variable_set(:hunted, __T__)
    __WAIT__
    out << bound__N__.local_variable_get(:hunted) << bound__N__.eval(%q~__WAIT__; hunted~)
  RUBY
end
