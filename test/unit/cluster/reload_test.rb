# frozen_string_literal: true

require_relative "../../support/fake_cluster"

# A new version beside the old one: when it takes over, and what is left when it fails.
class ClusterReloadTest < Minitest::Test
  def test_a_reload_puts_new_workers_in_the_place_of_the_old_ones_when_all_are_ready
    cluster = FakeCluster.new
    old = cluster.serving
    answers, lines = reload(cluster)
    fresh_mold = cluster.mold
    fresh_mold.loaded
    first, second = fresh_mold.obey
    first.ready
    assert_equal([[:serve], [:serve], [], []], cluster.engine.channels.map(&:calls))
    second.ready
    assert_equal(
      [%i[serve retire], %i[serve retire], [:serve], [:serve]],
      cluster.engine.channels.map(&:calls)
    )
    assert_equal true, answers.first.first
    assert_match(/2 new workers serve/, answers.first.last)
    assert_equal 2, lines.size
    old.each { |worker| worker.ends(code: 0) }
    old_mold = cluster.molds.first
    old_mold.obey
    assert_predicate old_mold, :quit?
    old_mold.ends(code: 0)
    assert_equal 2, cluster.supervisor.generation
    second.ends(signal: 9)
    assert_equal [1], fresh_mold.obey.map(&:number)
    refute_match(/error: the process/, cluster.log.text)
  end

  def test_a_version_that_does_not_load_changes_nothing
    cluster = FakeCluster.new
    cluster.serving
    answers, = reload(cluster)
    cluster.mold.control.tell({ event: "failed", message: "app.rb:1: syntax error" })
    cluster.mold.ends(code: 1)
    told = "the reload has failed: app.rb:1: syntax error; " \
           "nothing has changed, the old version still serves"
    assert_equal [[false, told]], answers
    assert_equal([[:serve]] * 2, cluster.engine.channels.map(&:calls))
    cluster.molds.first.obey
    refute_predicate cluster.molds.first, :quit?
  end

  def test_a_version_whose_worker_dies_before_it_is_ready_changes_nothing
    cluster = FakeCluster.new
    cluster.serving
    answers, = reload(cluster)
    fresh = cluster.mold
    fresh.loaded
    first, second = fresh.obey
    first.ready
    second.ends(signal: 11)
    assert_match(
      /worker 1 \(process #{second.pid}\) was killed by SIGSEGV before it was ready/,
      answers.first.last
    )
    assert_includes cluster.processes.killed, fresh.pid
    assert_includes cluster.processes.killed, first.pid
    cluster.processes.ended[first.pid] = { signal: 9 }
    fresh.ends(signal: 9)
    assert_equal([[:serve], [:serve], [:end], [:end]], cluster.engine.channels.map(&:calls))
    assert_equal 2, cluster.molds.size
  end

  def test_a_version_whose_mold_dies_leaves_no_workers_behind
    cluster = FakeCluster.new
    old = cluster.serving
    answers, = reload(cluster)
    fresh = cluster.mold
    fresh.loaded
    ready, starting = fresh.obey
    ready.ready
    fresh.ends(signal: 9)
    assert_match(/the process that the new workers are forked from was killed by SIGKILL before /,
                 answers.first.last)
    assert_empty [ready.pid, starting.pid] - cluster.processes.killed
    cluster.processes.gone.push(ready.pid, starting.pid)
    [ready, starting].each { |worker| worker.control.close }
    2.times { cluster.step }
    assert_equal old.map(&:pid), cluster.supervisor.workers.map { |worker| worker[:pid] }
    refute_match(/next attempt/, cluster.log.text)
    old.first.ends(signal: 9)
    assert_equal [0], cluster.molds.first.obey.map(&:number)
  end

  def test_lane_rules_apply_when_their_version_serves
    cluster = FakeCluster.new
    cluster.serving
    reload(cluster)
    cluster.mold.loaded
    first, second = cluster.mold.obey
    first.says(event: "lanes", rules: [RULE])
    first.ready
    assert_empty cluster.lanes
    second.ready
    assert_equal [[RULE]], in_words(cluster.lanes)
    second.says(event: "lanes", rules: [])
    assert_equal [[RULE], []], in_words(cluster.lanes)
  end

  def test_those_of_a_version_that_fails_never_apply
    cluster = FakeCluster.new
    cluster.serving
    reload(cluster)
    cluster.mold.loaded
    first, second = cluster.mold.obey
    first.says(event: "lanes", rules: [RULE])
    first.ready
    second.ends(signal: 11)
    assert_empty cluster.lanes
  end

  def test_reloads_that_are_asked_for_meanwhile_are_one_more
    cluster = FakeCluster.new
    cluster.serving
    first, = reload(cluster)
    second, = reload(cluster)
    third, = reload(cluster)
    assert_equal 2, cluster.molds.size
    cluster.mold.loaded
    cluster.mold.obey.each(&:ready)
    cluster.step
    assert_equal [1, 0, 0], [first, second, third].map(&:size)
    assert_equal 3, cluster.molds.size
    cluster.mold.loaded
    cluster.mold.obey.each(&:ready)
    assert_equal [1, 1, 1], [first, second, third].map(&:size)
    cluster.step
    assert_equal 3, cluster.molds.size
  end

  def test_an_old_worker_serves_until_there_is_a_place_for_its_successor
    cluster = FakeCluster.new
    old = cluster.serving
    answers, = reload(cluster)
    cluster.engine.places = 3
    cluster.mold.loaded
    fresh = cluster.mold.obey.each(&:ready)
    assert_match(/1 new worker serves .* 1 old one finishes .*; 1 new one waits until/,
                 answers.first.last)
    assert_equal [%i[serve retire], [:serve], [:serve], []], calls_of(old + fresh)
    cluster.pass(3)
    old.first.ends(code: 0)
    assert_equal [%i[serve retire], [:serve], [:serve]], calls_of([old.last, *fresh])
    assert_empty cluster.mold.obey
  end

  def test_a_reload_of_which_none_has_a_place_changes_nothing
    cluster = FakeCluster.new
    old = cluster.serving
    answers, = reload(cluster)
    cluster.engine.places = 2
    cluster.mold.loaded
    fresh = cluster.mold.obey.each(&:ready)
    told = "the reload has failed: there is no place for a new worker beside those that serve " \
           "and those that still finish their requests; " \
           "nothing has changed, the old version still serves"
    assert_equal [[false, told]], answers
    assert_equal [[:serve], [:serve], [], []], calls_of(old + fresh)
    assert_empty fresh.map(&:pid) - cluster.processes.killed
    assert_equal 1, cluster.supervisor.generation
    refute_match(/reloaded|cannot serve/, cluster.log.text)
  end

  # As after two reloads, while requests of the first version last.
  def test_a_new_version_waits_for_its_places_where_no_old_one_serves
    cluster = FakeCluster.new(workers: 1)
    cluster.engine.places = 1
    old = cluster.serving.first
    old.says(event: "ending")
    cluster.supervisor.drain_worker(cluster.supervisor.roster.all.first)
    answers, = reload(cluster)
    cluster.mold.loaded
    fresh = cluster.mold.obey.first.ready
    assert_match(/\A0 new workers serve .*; 1 new one waits/, answers.first.last)
    old.ends(code: 0)
    assert_equal [[:serve]], calls_of([fresh])
  end

  def test_a_new_worker_that_cannot_serve_is_started_again_later
    cluster = FakeCluster.new
    old = cluster.serving
    answers, = reload(cluster)
    cluster.mold.loaded
    refused, served = cluster.mold.obey
    refused.channel.engine = Struct.new(:refusal, :place?).new(NeverBlock::Error.new("no"), true)
    [refused, served].each(&:ready)
    assert_match(/1 new worker serves/, answers.first.last)
    assert_match(/worker 0 \(process #{refused.pid}\) cannot serve: no$/, cluster.log.text)
    assert_equal [[:serve], %i[serve retire]], calls_of(old)
    refused.ends(signal: 9)
    cluster.pass(5)
    assert_equal [0], cluster.mold.obey.each(&:ready).map(&:number)
    assert_equal [%i[serve retire]] * 2, calls_of(old)
  end

  def test_an_old_worker_that_dies_meanwhile_is_replaced_by_one_of_the_old_version
    cluster = FakeCluster.new
    old = cluster.serving
    reload(cluster)
    old.first.ends(signal: 9)
    assert_equal [0], cluster.molds.first.obey.map(&:number)
  end

  def test_what_the_front_keeps_is_named_where_the_new_configuration_differs
    cluster = FakeCluster.new
    cluster.serving
    reload(cluster)
    settings = NeverBlock::Config::Settings.new(
      file: { workers: 3, "timeouts.idle": 5, fibers: 7, "executor.offload_threads": 3 }
    )
    cluster.mold.loaded(settings: NeverBlock::Cluster::Settings.of(settings))
    assert_match(
      /the new configuration differs in workers, timeouts idle: the front has these settings/,
      cluster.log.text
    )
  end

  def test_an_application_that_cannot_be_loaded_again_is_not_reloaded
    cluster = FakeCluster.new(again: "loaded by rackup")
    cluster.serving
    assert_equal [[false, "loaded by rackup"]], reload(cluster).first
  end

  def test_a_server_that_waits_for_its_next_attempt_serves_a_new_version_at_once
    cluster = FakeCluster.new
    cluster.mold.ends(signal: 11)
    reload(cluster)
    cluster.mold.loaded
    cluster.mold.obey.each(&:ready)
    assert_nil cluster.engine.unavailable
    assert_equal [:serving], cluster.events
  end

  def test_a_drain_ends_a_reload
    cluster = FakeCluster.new
    cluster.serving
    first, = reload(cluster)
    second, = reload(cluster)
    cluster.post(:drain)
    assert_match(/the server is stopping/, first.first.last)
    assert_equal [[false, "the server is stopping"]], second
    assert_includes cluster.processes.killed, cluster.mold.pid
  end

  private

  RULE = [["GET"], "/report", true, "GET /report"].freeze
  private_constant :RULE

  def calls_of(workers)
    workers.map { |worker| worker.channel.calls.dup }
  end

  def in_words(lanes)
    lanes.map { |rules| rules.map(&:to_a) }
  end

  # @return [Array(Array, Array)] answers and progress, as they come
  def reload(cluster)
    answers = []
    lines = []
    cluster.post(:reload, answers.method(:<<), lines.method(:<<))
    [answers, lines]
  end
end
