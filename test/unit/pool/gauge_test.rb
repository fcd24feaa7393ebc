# frozen_string_literal: true

require_relative "../binding/binding_case"
require "json"
require "net/http"
require "neverblock/pool/gauge"

# What gauges tell of pools that are made before, while and after a server runs in this process.
class GaugeTest < BindingCase
  Gauge = NeverBlock::Pool::Gauge
  # Records of a process (core/intake/pool_gauges.h).
  MOST = 32

  # Pools of other tests may be alive yet, and more than there are records for.
  def setup
    super
    ObjectSpace.each_object(Gauge, &:retire)
  end

  def teardown
    super
    @kept&.each(&:retire)
  end

  def test_without_a_server_nothing_happens
    gauge = keep(Gauge.new(:sequel, "shop", 5))
    assert_nil gauge.tell(:acquired, 1, 0)
    assert_nil gauge.next_wait
    assert_nil gauge.retire
    assert_equal "shop", gauge.name
  end

  def test_a_kind_that_there_is_not_is_refused
    assert_raises(ArgumentError) { Gauge.new(:pond, "shop", 5) }
    assert_raises(TypeError) { Gauge.new("sequel", "shop", 5) }
    assert_raises(TypeError) { Gauge.new(:sequel, nil, 5) }
  end

  def test_a_pool_without_a_name_is_called_by_the_place_where_it_was_made
    block, line = proc {}, __LINE__
    assert_equal "test/unit/pool/gauge_test.rb:#{line}",
                 Dir.chdir(File.expand_path("../../..", __dir__)) { Gauge.place(block) }
    gem = Struct.new(:path, :lineno).new("/x/gems/ruby/3.1.0/gems/redis-5.0/lib/redis.rb", 7)
    assert_equal "redis-5.0/lib/redis.rb:7", Gauge.place(gem)
    assert_equal "unknown", Gauge.place(nil)
    assert_equal "unknown", Gauge.place(:to_s.to_proc)
  end

  def test_those_made_before_and_while_the_server_runs_are_shown_until_they_retire
    before = keep(Gauge.new(:sequel, "shop", 5))
    with_admin do
      keep(Gauge.new(:active_record, "primary", nil))
      assert_equal [["active_record", "primary", nil], ["sequel", "shop", 5]], shown
      before.size = 7
      before.tell(:acquired, 3, 2)
      assert_equal [["sequel", "shop", 7, 3, 2]], shown("in_use", "waiting").select { |row| row[2] }
      before.retire
      assert_equal [["active_record", "primary", nil]], shown
      before.tell(:changed, 0, 0)
      assert_equal 2, shown.size
    end
  end

  def test_pools_of_one_name_have_numbers
    with_admin do
      gauges = Array.new(3) { keep(Gauge.new(:sequel, "shop", 5)) }
      keep(Gauge.new(:active_record, "shop", 5))
      assert_equal ["shop", "shop", "shop (2)", "shop (3)"], (shown.map { |row| row[1] }.sort)
      gauges[1].retire
      assert_equal "shop (2)", keep(Gauge.new(:sequel, "shop", 5)).name
    end
  end

  def test_one_beyond_the_last_record_is_shown_when_there_is_room
    with_admin do
      gauges = Array.new(MOST + 1) { |i| keep(Gauge.new(:sequel, "shop#{i}", 5)) }
      assert_equal MOST, shown.size
      gauges.last.tell(:acquired, 1, 0)
      refute_includes names, "shop#{MOST}"
      gauges[3].retire
      gauges.last.tell(:acquired, 1, 0)
      assert_includes names, "shop#{MOST}"
    end
  end

  def test_an_event_that_there_is_not_is_refused
    with_admin do
      gauge = keep(Gauge.new(:sequel, "shop", 5))
      assert_raises(ArgumentError) { gauge.tell(:lost, 1, 0) }
    end
  end

  def test_a_child_tells_nothing_to_its_parents_readers
    with_admin do
      gauge = keep(Gauge.new(:sequel, "shop", 5))
      gauge.tell(:acquired, 1, 0)
      Process.wait(fork do
        gauge.tell(:acquired, 5, 9)
        gauge.retire
        exit!(0)
      end)
      assert_equal [["sequel", "shop", 5, 1, 0]], shown("in_use", "waiting")
    end
  end

  private

  # Those of other tests are collected when they like.
  def keep(gauge)
    (@kept ||= []) << gauge
    gauge
  end

  def with_admin
    serve(admin: "http://127.0.0.1:0") { [200, PLAIN, ["fine"]] }
    ask # so the executor runs
    yield
  end

  def pools
    body = Net::HTTP.get(URI("#{@server.admin_url}/status.json"))
    names = @kept.map(&:name)
    JSON.parse(body).fetch("pools").select { |pool| names.include?(pool["name"]) }
  end

  def shown(*more)
    pools.map { |pool| pool.values_at("kind", "name", "size", *more) }.sort_by { |row| row[0] }
  end

  def names
    pools.map { |pool| pool["name"] }
  end
end
