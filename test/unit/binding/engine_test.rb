# frozen_string_literal: true

require_relative "binding_case"

# Tests NeverBlock::Engine as a Ruby object: whatever it is given, in whatever order it is called,
# it answers or raises.
class EngineTest < BindingCase
  APP = ->(_env) { [200, {}, ["fine"]] }

  def teardown
    @engines&.each { |engine| NeverBlock::Engine.instance_method(:stop_now).bind_call(engine) }
    super
  end

  def test_a_closed_engine_refuses_or_does_nothing
    closed = engine.tap(&:close)
    assert_nil closed.close
    assert_same closed, closed.drain
    assert_same closed, closed.stop_now
    refute_predicate closed, :running?
    assert closed.join(0)
    refusals = [-> { closed.start }, -> { closed.stats },
                -> { closed.listen_tcp("127.0.0.1", 0, 1) },
                -> { NeverBlock::Executor.new(closed, APP) }]
    refusals.each { |call| assert_match(/closed/, assert_raises(NeverBlock::Error, &call).message) }
  end

  def test_an_engine_never_initialized_or_copied_is_a_closed_one
    [NeverBlock::Engine.allocate, engine.dup, engine.clone].each do |empty|
      assert_raises(NeverBlock::Error) { empty.start }
      assert_nil empty.close
    end
  end

  def test_it_is_initialized_and_started_once
    once = engine.start
    assert_raises(NeverBlock::Error) { once.start }
    assert_raises(NeverBlock::Error) { once.send(:initialize) }
    assert_raises(NeverBlock::Error) { once.listen_tcp("127.0.0.1", 0, 1) }
    assert_raises(NeverBlock::Error) { NeverBlock::Executor.new(once, APP) }
    assert_predicate once, :running?
    once.stop_now
    assert once.join(SECONDS)
  end

  WRONG = [nil, true, "x", "", "x\0y", :x, 1.5, Float::NAN, -1, 1 << 16, 1 << 32, 1 << 64,
           -(1 << 70), [], {}, Object.new, BasicObject.new, Struct.new(:to_str).new(3),
           Naming.new("127.0.0.1").freeze].freeze
  CLEAR = [ArgumentError, TypeError, RangeError, FloatDomainError, NoMethodError, SystemCallError,
           NeverBlock::Error].freeze

  # Each argument of each call in turn; the others are right. What is accepted must be what it says.
  def test_no_argument_of_a_wrong_type_or_size_does_more_than_raise
    { listen_tcp: ["127.0.0.1", 0, 8], listen_unix: ["/nonexistent/socket", 0, 8], join: [0],
      route: ["/x", true, nil] }.each do |name, right|
      right.each_index do |index|
        WRONG.each do |wrong|
          engine.public_send(name, *right.dup.tap { |arguments| arguments[index] = wrong })
        rescue *CLEAR
          pass
        end
      end
    end
  end

  def test_no_setting_of_a_wrong_type_or_size_is_taken
    NeverBlock::Engine::DEFAULTS.each_key do |name|
      [nil, "7", :x, -1, 1 << 64, -(1 << 70), [], Object.new].each do |wrong|
        assert_raises(*CLEAR) { NeverBlock::Engine.new(name => wrong) }
      end
    end
    assert_raises(ArgumentError) { NeverBlock::Engine.new(headers_max: 1 << 32) }
    assert_raises(ArgumentError) { NeverBlock::Engine.new(no_such: 1) }
    assert_raises(TypeError, ArgumentError) { NeverBlock::Engine.new(3 => 1) }
    assert_raises(ArgumentError) { NeverBlock::Engine.new(poller: "e\0poll") }
    assert_raises(NeverBlock::Error) { NeverBlock::Engine.new(poller: "none of these") }
  end

  def test_routes_are_numbered_and_what_is_none_is_refused
    routed = engine
    assert_equal [1, 2, 3], [routed.route("/x", true, nil), routed.route("/y/*", false, true),
                             routed.route(Naming.new("/z"), nil, false)]
    ["", "x", "/x*y", "/a b", "/\0"].each do |wrong|
      assert_raises(ArgumentError) { routed.route(wrong, true, nil) }
    end
    error = assert_raises(NeverBlock::Error) do
      300.times { |number| routed.route("/#{number}", true, nil) }
    end
    assert_match(/at most 256/, error.message)
    assert_raises(NeverBlock::Error) { engine.start.route("/x", true, nil) }
    assert_raises(NeverBlock::Error) { engine.tap(&:close).route("/x", true, nil) }
  end

  def test_a_port_or_mode_out_of_range_is_not_cut_to_size
    [70_000, -1, 1 << 40].each do |port|
      assert_raises(ArgumentError) { engine.listen_tcp("127.0.0.1", port, 1) }
    end
    assert_raises(TypeError) { engine.listen_tcp("127.0.0.1", 1.5, 1) }
    [-1, 0o10000].each do |mode|
      assert_raises(ArgumentError) { engine.listen_unix("/nonexistent/socket", mode, 1) }
    end
    assert_equal 0, Dir.children("/").count { |name| name == "nonexistent" }
  end

  # Conversions of arguments run the caller's code before the server is looked at.
  def test_an_argument_that_closes_the_engine_while_it_is_read
    victim = engine
    assert_raises(NeverBlock::Error) do
      victim.listen_tcp("127.0.0.1", Turning.new(0, -> { victim.close }), 1)
    end
    victim = engine
    assert_raises(NeverBlock::Error) do
      victim.listen_unix("/nonexistent/socket", 0, Turning.new(1, -> { victim.close }))
    end
    victim = engine
    assert_raises(NeverBlock::Error) do
      NeverBlock::Executor.new(victim, APP, fibers: Turning.new(1, -> { victim.close }))
    end
  end

  # A compaction moves strings that nothing on a stack refers to.
  def test_texts_of_settings_are_kept_and_stay_where_they_are_until_they_are_used
    Dir.mktmpdir do |directory|
      naming = Naming.new(directory)
      GC.stress = true
      assert NeverBlock::Engine.new(poller: Naming.new("epoll"), spool_directory: naming,
                                    credit: Turning.new(7, -> { GC.compact }))
    ensure
      GC.stress = false
    end
  end

  def test_it_is_not_closed_under_an_executor_that_runs
    serve(APP)
    used = @server.instance_variable_get(:@io_loop).engine
    assert_serves
    3.times do
      assert_match(/still runs/, assert_raises(NeverBlock::Error) { used.close }.message)
      assert_serves
    end
    assert @server.stop(timeout: SECONDS)
    assert_raises(NeverBlock::Error) { used.stats }
  end

  def test_an_executor_that_never_ran_does_not_keep_the_loop
    idle = engine
    NeverBlock::Executor.new(idle, APP)
    idle.start.stop_now
    assert idle.join(SECONDS)
    idle.close
  end

  def test_join_gives_up_when_the_time_is_over
    running = engine.start
    [0, -1, 0.01, Float::NAN].each { |time| refute within { running.join(time) } }
    assert_predicate running, :running?
  end

  def test_engine_and_executor_are_collected_in_any_order
    5.times do
      20.times { NeverBlock::Executor.new(NeverBlock::Engine.new, APP, fibers: 3) }
      keep = Array.new(5) { NeverBlock::Executor.new(NeverBlock::Engine.new, APP) }
      GC.start
      keep.clear
      others = Array.new(5) do
        NeverBlock::Engine.new.tap { |made| NeverBlock::Executor.new(made, APP) }.start
      end
      GC.start
      others.each(&:close)
    end
    GC.start
    assert_operator ObjectSpace.each_object(NeverBlock::Engine).count, :<, 60
  end

  def test_close_from_several_threads_frees_once
    10.times do
      shared = NeverBlock::Engine.new.start
      Array.new(4) {
        Thread.new { shared.stop_now && shared.join(SECONDS) && shared.close }
      }.each(&:join)
      refute_predicate shared, :running?
    end
  end

  def test_abandon_is_for_a_child_only
    serve(APP)
    @server.instance_variable_get(:@io_loop).engine.abandon
    assert_serves
  end

  def test_a_child_has_none_of_its_listeners_and_clients_but_the_client_is_still_served
    skip "there is no /proc/self/fd" unless File.directory?("/proc/self/fd")
    GC.start # nothing that other tests have left is closed while descriptors are counted
    GC.disable
    kinds = ["socket:", "anon_inode:[eventpoll]"]
    sockets = -> {
      Dir["/proc/self/fd/*"].count do |fd|
        File.symlink?(fd) && File.readlink(fd).start_with?(*kinds)
      end
    }
    serve { |_env| [200, {}, [IO.popen("-") { |io| io ? io.read : print(sockets.call) }]] }
    wires = Array.new(3) { client }
    told = Array.new(2) do
      wires.map { |wire| wire.get("/") and within { wire.response.body.to_i } }
    end
    # The child has neither the server's ends of the three connections, nor its listener and poller.
    assert_operator told.last.max, :<=, sockets.call - 3 - 1 - 1
    assert_equal 1, told.last.uniq.size
    wires.each(&:close)
  ensure
    GC.enable
  end

  def test_in_a_child_it_says_that_it_is_the_parents
    serve(APP)
    used = @server.instance_variable_get(:@io_loop).engine
    reader, writer = IO.pipe
    child = fork do
      message = begin
        used.stats
      rescue NeverBlock::Error => e
        e.message
      end
      used.drain.stop_now
      used.abandon
      used.close
      writer.write([message, used.running?, used.join(1)].inspect)
      writer.close
      exit!(0)
    end
    writer.close
    told = within { reader.read }
    assert_match(/belongs to process #{Process.pid}.*false, true/, told)
    Process.wait(child)
    assert_serves
  end
end

require "tmpdir"
