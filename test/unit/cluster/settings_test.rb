# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/cluster/settings"
require "neverblock/config/settings"

class ClusterSettingsTest < Minitest::Test
  # What a new configuration says => what the front names.
  DIFFERENCES = {
    {} => [],
    {
      fibers: 3, preload_app: false, "executor.offload_threads": 3, environment: "production",
      log_requests: true, before_fork: [-> {}]
    } => [],
    { "timeouts.idle": 3 } => ["timeouts idle"],
    { "limits.queue": 3, workers: 4, pidfile: "x" } => ["workers", "pidfile", "limits queue"],
    { bind: ["http://127.0.0.1:1"] } => ["bind"],
    { cancel_on_disconnect: true, learn_lanes: false, "executor.stall_ms": 7,
      "executor.slice_ms": 7 } =>
      ["executor stall_ms", "learn_lanes", "cancel_on_disconnect"],
    { route: [["/up", { input: :stream }]] } => ["route"]
  }.freeze

  DIFFERENCES.each do |file, names|
    define_method("test_#{file.keys.inspect} differs in #{names.inspect}") do
      assert_equal names, NeverBlock::Cluster::Settings.differing(text({}), text(file))
    end
  end

  SECURE = "https://127.0.0.1:1?cert=a.pem&key=a.pem"
  # Two values of a setting, which differ.
  PAIRS = [
    { bind: [SECURE, "#{SECURE}&verify=required&ca=c.pem"] },
    { bind: [SECURE, "https://127.0.0.1:1?cert=b.pem&key=b.pem"] },
    { bind: ["http://127.0.0.1:1", "http://127.0.0.1:1?proxy_protocol=on"] },
    { bind: ["unix:///run/x", "unix:///run/x?mode=600"] },
    { "tls.acme": [[["example.org"], {}], [["example.org"], { directory: :staging }]] },
    { "tls.acme": [[["example.org"], {}], [["example.org"], { email: "me@example.org" }]] }
  ].freeze

  def test_what_stands_behind_an_address_or_a_name_counts
    PAIRS.each do |pair|
      key, values = pair.first
      ours, theirs = values.map { |value| text({ key => [value] }) }
      assert_equal [key.to_s.tr(".", " ")], NeverBlock::Cluster::Settings.differing(ours, theirs)
      assert_empty NeverBlock::Cluster::Settings.differing(ours, text({ key => [values.first] }))
    end
  end

  def test_what_came_as_a_message_compares_as_well
    message = text({}).transform_keys(&:to_sym)
    assert_empty NeverBlock::Cluster::Settings.differing(text({}), message)
  end

  private

  def text(file)
    values = file.to_h do |key, value|
      row = NeverBlock::Config::Catalog[key]
      [key, row.repeat ? value.map { |one| row.read(one) } : row.read(value)]
    end
    NeverBlock::Cluster::Settings.of(NeverBlock::Config::Settings.new(file: values))
  end
end
