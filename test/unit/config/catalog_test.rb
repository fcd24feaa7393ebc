# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/config/catalog"

class CatalogTest < Minitest::Test
  Catalog = NeverBlock::Config::Catalog

  def test_no_two_settings_share_a_name_a_flag_or_a_variable
    rows = Catalog::OPTIONS
    ours = [*rows.select(&:in_file).map(&:name), *Catalog.groups]
    assert_empty rows.flat_map(&:elsewhere) & ours, "a word of ours is no word of others"
    [
      rows.map(&:key), rows.flat_map(&:flags), rows.flat_map(&:env), rows.flat_map(&:elsewhere)
    ].each { |names| assert_equal names.uniq, names }
  end

  Catalog::OPTIONS.each do |row|
    define_method("test_#{row} has a sentence, and a default that its own type takes") do
      refute_empty row.help
      refute_match(/\A[A-Z]\w* |\.\z/, row.help.sub(/\A(NB|X)\S*/, ""))
      next if row.default.nil?

      found = row.type.read(row.default, "default")
      assert_equal row.default.to_s, found.to_s
    end
  end

  # interface.md, Configuration: the numbers there are the defaults.
  INTERFACE = {
    fibers: 1024, backlog: 1024, "sendfile.buffer": 81_920, "sendfile.workers": 50,
    "timeouts.header": 10, "timeouts.body": 30, "timeouts.idle": 65, "timeouts.shutdown": 30,
    "timeouts.rate_min": 500, "timeouts.request": nil, "timeouts.worker": 60,
    "timeouts.retire": nil, workers: 1, preload_app: true, cancel_on_disconnect: false,
    "executor.slice_ms": 10, "executor.stall_ms": 100, "executor.spares": 4,
    "executor.offload_threads": 32, scheduler: :native, cooperative: false, learn_lanes: true,
    log_requests: false, "limits.header_bytes": 65_536, "limits.headers": 100,
    "limits.body_bytes": 104_857_600, "limits.spool_bytes": 1_073_741_824,
    "limits.connections": 10_000, "limits.queue": 1_000, symlinks: :inside,
    "sendfile.algorithm": :auto
  }.freeze

  def test_the_defaults_are_those_of_the_interface
    INTERFACE.each do |key, value|
      default = Catalog[key].default
      value.nil? ? assert_nil(default, key) : assert_equal(value, default, key)
    end
  end

  def test_every_word_of_the_interfaces_file_is_known
    words = %i[
      bind workers preload_app before_fork after_fork fibers backlog public_dir sendfile timeouts
      cancel_on_disconnect executor scheduler cooperative learn_lanes log_requests limits route
      accel cache symlinks on_download admin
    ]
    assert_empty words - Catalog.in_file(nil).map(&:name) - Catalog.groups
  end

  def test_what_does_not_work_yet_says_so_and_what_works_of_it_is_taken
    tides = NeverBlock::Config::Option.new(
      name: :tides, type: NeverBlock::Config::Type::Choice.new(:low, :high),
      later: "low is what there is", works: [:low]
    )
    assert_equal :low, tides.read("low", "--tides")
    error = assert_raises(NeverBlock::NotYetError) { tides.read(:high) }
    assert_equal "tides high is not supported yet; low is what there is", error.message
  end

  def test_flags_and_nil_are_numbers_for_the_engine
    request = Catalog[:"timeouts.request"]
    assert_equal [0, 2_500], [nil, 2.5].map { |value| request.to_engine(value) }
    assert_equal 0..4_294_967_295, request.engine_range
    cancel = Catalog[:cancel_on_disconnect]
    assert_equal [1, 0], [true, false].map { |value| cancel.to_engine(value) }
    assert_equal 0..1, cancel.engine_range
  end
end
