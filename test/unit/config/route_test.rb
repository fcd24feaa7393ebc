# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/config"

class RouteTest < Minitest::Test
  Route = NeverBlock::Config::Route
  Line = Route::Line

  def test_a_path_and_the_beginning_of_one_are_patterns
    ["/", "/uploads", "/x/*", "/*", "/a%20b", "/~a;v=1,(2)!$&'+:@"].each do |pattern|
      assert_equal pattern, Route.read(pattern, { input: :whole }).pattern
    end
  end

  def test_words_are_read_and_what_is_not_said_stays_open
    route = Route.read("/x", { input: "whole" })
    assert_equal :whole, route.input
    assert_nil route.cancel_on_disconnect
    assert_predicate route, :frozen?
    route = Route.read("/x", { cancel_on_disconnect: false, input: :whole })
    assert_equal false, route.cancel_on_disconnect
  end

  def test_whether_its_responses_are_compressed
    assert_nil Route.read("/x", { input: :whole }).compress
    [true, false, :always].each do |value|
      assert_equal value, Route.read("/x", { compress: value }).compress
    end
    error = assert_raises(NeverBlock::ConfigError) { Route.read("/x", { compress: :gzip }) }
    assert_match(/compress: must be true or false or :always; got :gzip/, error.message)
  end

  WRONG = {
    "x" => "a path begins with a slash",
    "*" => "a path begins with a slash",
    "/a?b" => "leave out the query",
    "/a#b" => "leave out the query",
    "/a b" => "%20 for a space",
    "/caf\u00e9" => "%C3%A9",
    "/x*y" => "a star",
    "" => "got \"\"",
    "/\n" => "got",
    "/x\0" => "got",
    nil => "got nil",
    3 => "got 3",
    %r{/x} => "got /",
    "/\xFF" => "got"
  }.freeze

  def test_what_is_no_pattern_is_one_line_that_says_what_is
    WRONG.each do |pattern, words|
      error = assert_raises(NeverBlock::ConfigError) { Route.read(pattern, { input: :whole }) }
      message = error.message
      kinds = 'such as "/uploads", or a prefix with a star such as "/x/*"'
      assert_operator message, :start_with?, "route takes an absolute path #{kinds}; got "
      assert_includes message, words
      refute_includes message, "\n"
      assert_operator Route.read("/#{"x" * 100}", { input: :whole }).pattern.size, :>, 100
    end
  end

  def test_a_lane_of_threads_has_a_number_of_them_and_may_have_a_queue
    route = Route.read("/x", { lane: :thread, at_once: 2, queue: 10 })
    assert_equal [true, 2, 10], [route.lane, route.at_once, route.queue]
    route = Route.read("/x", { lane: :thread })
    assert_equal [true, Route::AT_ONCE, nil], [route.lane, route.at_once, route.queue]
    route = Route.read("/x", { lane: :fibers })
    assert_equal [false, nil, nil], [route.lane, route.at_once, route.queue]
    { at_once: 2, queue: 10 }.each do |name, value|
      error = assert_raises(NeverBlock::ConfigError) { Route.read("/x", { name => value }) }
      assert_equal %(route "/x" #{name}: works only with lane: :thread), error.message
    end
  end

  def test_words_that_nobody_knows
    {
      { inputs: :stream } => /unknown word inputs; did you mean input\?/,
      { qwertz: 1 } => /unknown word qwertz; a route takes input: \(/,
      {} => /sets nothing; it takes input: \(/
    }.each do |words, told|
      error = assert_raises(NeverBlock::ConfigError) { Route.read("/x", words) }
      assert_match told, error.message
    end
  end

  def test_how_files_of_some_paths_are_sent
    route = Route.read("/films/*", { algorithm: :eba, rate: 1_000_000 })
    assert_equal [:eba, 1_000_000], [route.algorithm, route.rate]
    route = Route.read("/x", { input: :whole })
    assert_equal [nil, nil], [route.algorithm, route.rate]
    error = assert_raises(NeverBlock::ConfigError) { Route.read("/x", { algorithm: :quick }) }
    assert_equal 'route "/x" algorithm: must be auto, eba, enba or sba; got :quick', error.message
    assert_raises(NeverBlock::ConfigError) { Route.read("/x", { rate: 0 }) }
  end

  def test_a_value_of_a_word_is_checked
    error = assert_raises(NeverBlock::ConfigError) do
      Line.new.read(["/x", { input: :no }], "route")
    end
    assert_equal 'route "/x" input: must be stream or whole; got :no', error.message
  end

  def test_a_route_behind_one_that_takes_all_its_paths_is_refused
    line = Line.new
    first = [Route.read("/a/*", { input: :whole }), Route.read("/b", { input: :whole })]
    ["/a/*", "/a/", "/a/b", "/a/b/*", "/b"].each do |pattern|
      error = assert_raises(NeverBlock::ConfigError) do
        line.check_after(first, Route.read(pattern, { input: :whole }), "route")
      end
      assert_match(/\Aroute "#{Regexp.escape(pattern)}" is never used/, error.message)
    end
    ["/a", "/*", "/b*", "/b/", "/c"].each do |pattern|
      assert_nil line.check_after(first, Route.read(pattern, { input: :whole }), "route")
    end
  end

  def test_there_are_no_more_than_the_engine_has_room_for
    line = Line.new
    routes = Array.new(Route::MAX) { |number| Route.read("/#{number}", { input: :whole }) }
    assert_nil line.check_after(routes[0...-1], routes.last, "route")
    assert_raises(NeverBlock::ConfigError) do
      line.check_after(routes, Route.read("/more", { input: :whole }), "route")
    end
    long = Route.read("/#{"x" * Route::PATTERN_BYTES_MAX}", { input: :whole })
    assert_raises(NeverBlock::ConfigError) { line.check_after([], long, "route") }
  end

  def lanes(count)
    Array.new(count) { |number| Route.read("/#{number}", { lane: :thread }) }
  end

  def test_there_are_no_more_lanes_than_the_engine_has_room_for_with_the_servers_own
    {
      {} => [30, ", as 2 more lanes are the server's own"],
      { learn_lanes: false } => [31, ", as 1 more lane is the server's own"],
      { stall_ms: 0 } => [31, ", as 1 more lane is the server's own"],
      { own_lanes: false } => [32, ""]
    }.each do |settings, (most, others)|
      fibers = Route.read("/other", { lane: :fibers })
      NeverBlock::Config.new(routes: [fibers, *lanes(most)], **settings)
      error = assert_raises(NeverBlock::ConfigError) do
        NeverBlock::Config.new(routes: [fibers, *lanes(most + 1)], **settings)
      end
      assert_equal "route \"/#{most}\": at most #{most} routes with lane: :thread are " \
                   "allowed#{others}; replace some by a prefix with a star", error.message
    end
  end

  def test_the_bound_of_lanes_is_the_engines
    limits = File.read(File.expand_path("../../../ext/neverblock/core/base/limits.h", __dir__))
    assert_equal Route::LANES_MAX, limits[/^#define NB_LANES_MAX (\d+)u$/, 1].to_i
  end

  def test_a_configuration_holds_its_routes
    config = NeverBlock::Config.new(
      routes: [["/x", { input: :whole }], Route.read("/y/*", { input: :whole })]
    )
    assert_equal ["/x", "/y/*"], config.routes.map(&:to_s)
    assert_predicate config.routes, :frozen?
    assert_empty NeverBlock::Config.new.routes
    assert_raises(NeverBlock::ConfigError) { NeverBlock::Config.new(routes: [["x", {}]]) }
  end
end
