# frozen_string_literal: true

require_relative "../../support/fake_cluster"

class ClusterSupervisorTest < Minitest::Test
  # --- starting ---

  def test_workers_are_forked_when_the_mold_has_loaded_and_serve_when_they_are_ready
    cluster = FakeCluster.new(workers: 3)
    assert_empty cluster.engine.channels
    cluster.mold.loaded
    workers = cluster.mold.obey
    assert_equal [0, 1, 2], workers.map(&:number)
    assert_equal([[]] * 3, cluster.engine.channels.map(&:calls))
    workers.each(&:ready)
    assert_equal([[:serve]] * 3, cluster.engine.channels.map(&:calls))
    assert_equal workers.map(&:pid), cluster.engine.channels.map(&:pid)
  end

  def test_it_is_said_to_serve_once_all_workers_of_the_start_are_ready
    cluster = FakeCluster.new
    cluster.mold.loaded
    first, second = cluster.mold.obey
    first.ready
    assert_empty cluster.events
    second.ready
    cluster.pass(3)
    assert_equal [:serving], cluster.events
  end

  def test_one_that_does_not_boot_keeps_the_others_from_nothing
    cluster = FakeCluster.new
    cluster.mold.loaded
    first, second = cluster.mold.obey
    first.ready
    second.ends(signal: 11)
    assert_equal [:serving], cluster.events
    assert_nil cluster.engine.unavailable
  end

  def test_what_ruby_says_is_wrong_while_loading_is_a_failed_start
    cluster = FakeCluster.new
    cluster.mold.control.tell({ event: "failed", message: "config.ru:3: no (RuntimeError)" })
    cluster.mold.ends(code: 1)
    assert_instance_of NeverBlock::ApplicationError, cluster.supervisor.failure
    assert_equal "config.ru:3: no (RuntimeError)", cluster.supervisor.failure.message
    assert_equal %i[drain stop_now], cluster.engine.calls
  end

  def test_a_worker_that_says_what_is_wrong_while_loading_is_one_too
    cluster = FakeCluster.new
    cluster.mold.loaded
    worker = cluster.mold.obey.first
    worker.control.tell({ event: "failed", message: "no such table" })
    worker.ends(code: 1)
    assert_equal "no such table", cluster.supervisor.failure.message
  end

  def test_one_that_says_so_and_then_hangs_in_at_exit_is_one_too
    cluster = FakeCluster.new
    cluster.mold.loaded
    worker = cluster.mold.obey.first
    worker.says(event: "failed", message: "no such table")
    worker.says(event: "ending")
    cluster.pass(9)
    assert_equal [worker.pid], cluster.processes.killed.uniq
    worker.ends(signal: 9)
    assert_equal "no such table", cluster.supervisor.failure&.message
  end

  def test_a_mold_that_is_gone_without_a_word_is_one_too
    cluster = FakeCluster.new
    cluster.mold.ends(code: 10)
    assert_match(
      /has ended with status 10 before it had loaded it/, cluster.supervisor.failure.message
    )
  end

  def test_a_crash_while_loading_is_tried_again_after_a_while_and_clients_are_told_how_long
    cluster = FakeCluster.new
    { 1 => 1, 2 => 2, 3 => 4 }.each do |count, seconds|
      assert_equal count, cluster.molds.size
      cluster.mold.ends(signal: 11)
      assert_equal seconds, cluster.engine.unavailable
      cluster.pass(seconds)
    end
    assert_nil cluster.supervisor.failure
    assert_match(
      /was killed by SIGSEGV before it had loaded it.*the next attempt is in 4 s/, cluster.log.text
    )
    cluster.serving
    assert_nil cluster.engine.unavailable
    assert_equal [:serving], cluster.events
  end

  def test_workers_that_crash_while_they_boot_back_off_together
    cluster = FakeCluster.new
    cluster.mold.loaded
    cluster.mold.obey.each { |worker| worker.ends(signal: 6) }
    assert_equal 1, cluster.engine.unavailable
    cluster.step
    assert_empty cluster.mold.obey
    cluster.pass(1)
    assert_equal [0, 1], cluster.mold.obey.map(&:number)
    lost = /worker 0 \(process \d+\) was killed by SIGABRT before it was ready/
    assert_match(/#{lost}; the next attempt is in 1 s/, cluster.log.text)
  end

  def test_a_system_that_refuses_the_first_mold_is_a_failed_start
    cluster = FakeCluster.allocate
    cluster.define_singleton_method(:make_mold) { |_since| raise Errno::EAGAIN }
    cluster.send(:initialize)
    assert_match(
      /cannot be started: Resource temporarily unavailable/, cluster.supervisor.failure.message
    )
  end

  def test_threads_of_the_application_are_named
    cluster = FakeCluster.new
    cluster.mold.loaded(threads: ["Thread (at app.rb:7)"])
    assert_match(
      /the application started 1 thread while it was loaded: .*app\.rb:7/, cluster.log.text
    )
  end

  # --- losing workers ---

  def test_a_worker_that_is_killed_is_replaced_at_once_and_its_last_words_are_logged
    cluster = FakeCluster.new
    worker = cluster.serving.last
    worker.channel.cost = {
      failed: 4, cut: 0, again: 1, lines: ["GET /slow", "GET /a", "GET /b", "GET /c"]
    }
    channel = worker.channel
    cluster.pass(5)
    worker.ends(signal: 9)
    assert_equal :end, channel.calls.last
    assert_equal [1], cluster.mold.obey.map(&:number)
    cost = "it was running GET /slow, GET /a, GET /b, GET /c; 4 got 502, 1 runs elsewhere"
    assert_match(
      /worker 1 \(process #{worker.pid}\) was killed by SIGKILL; #{cost}$/, cluster.log.text
    )
  end

  def test_a_kill_for_want_of_memory_is_called_that
    cluster = FakeCluster.new
    worker = cluster.serving.first
    cluster.oom_kills = 1
    worker.ends(signal: 9)
    assert_match(/was killed by SIGKILL; memory was exhausted/, cluster.log.text)
  end

  def test_workers_that_end_right_after_they_were_ready_are_replaced_ever_more_slowly
    cluster = FakeCluster.new(workers: 2)
    worker = cluster.serving.first
    3.times do
      worker.ends(signal: 11)
      worker = cluster.mold.obey.first.ready
    end
    worker.ends(signal: 11)
    assert_empty cluster.mold.obey
    cluster.pass(1)
    assert_equal 1, cluster.mold.obey.size
  end

  def test_a_kill_for_want_of_memory_counts_as_such_an_end
    cluster = FakeCluster.new
    cluster.mold.loaded
    cluster.oom_kills = 1
    cluster.mold.obey.each { |worker| worker.ends(signal: 9) }
    assert_equal 1, cluster.engine.unavailable
  end

  def test_those_that_somebody_kills_are_replaced_at_once_however_often
    cluster = FakeCluster.new
    worker = cluster.serving.first
    20.times do
      worker.ends(signal: 9)
      worker = cluster.mold.obey.first.ready
    end
    worker.ends(signal: 9)
    starting = cluster.mold.obey.first
    starting.ends(signal: 9)
    assert_equal [0], cluster.mold.obey.map(&:number)
  end

  def test_but_those_that_kill_themselves_before_they_are_ready_wait_after_a_few
    cluster = FakeCluster.new
    cluster.serving.first.ends(signal: 9)
    3.times { cluster.mold.obey.first.ends(signal: 9) }
    cluster.mold.obey.first.ends(signal: 9)
    assert_empty cluster.mold.obey
  end

  def test_one_that_had_answered_requests_is_replaced_at_once_however_short_it_lived
    cluster = FakeCluster.new(workers: 2)
    worker = cluster.serving.first
    20.times do
      worker.channel.figures = { running: 1, taken: 9 }
      worker.ends(signal: 11)
      worker = cluster.mold.obey.first.ready
    end
    assert_nil cluster.engine.unavailable
  end

  def test_nothing_is_left_open_however_many_workers_come_and_go
    cluster = FakeCluster.new
    worker = cluster.serving.first
    replace = proc do
      worker.channel.figures = { running: 0, taken: 1 }
      worker.ends(signal: 9)
      worker = cluster.mold.obey.first.ready
      cluster.engine.channels.select! { |channel| channel.calls.last == :serve }
    end
    10.times(&replace)
    GC.start # what other tests left open
    GC.disable
    before = Dir.children("/proc/self/fd").size
    1_000.times(&replace)
    assert_equal before, Dir.children("/proc/self/fd").size
  ensure
    GC.enable
  end

  def test_a_mold_that_dies_is_replaced_and_its_workers_go_on
    cluster = FakeCluster.new
    workers = cluster.serving
    cluster.mold.ends(signal: 9)
    assert_equal 2, cluster.molds.size
    assert_equal([[:serve]] * 2, cluster.engine.channels.map(&:calls))
    cluster.mold.loaded
    assert_empty cluster.mold.obey
    workers.first.control.close
    cluster.processes.ended[workers.first.pid] = { code: nil, signal: 9 }
    2.times { cluster.step }
    assert_equal [0], cluster.mold.obey.map(&:number)
  end

  def test_a_mold_that_ends_itself_before_a_worker_was_ready_is_a_failed_start
    cluster = FakeCluster.new
    cluster.mold.loaded
    cluster.mold.ends(code: 3)
    assert_equal "the process that workers are forked from has ended with status 3 " \
                 "before a worker was ready", cluster.supervisor.failure.message
  end

  def test_one_that_crashes_each_time_it_is_to_fork_is_started_ever_more_slowly
    cluster = FakeCluster.new
    cluster.mold.loaded
    cluster.mold.ends(signal: 11)
    assert_equal 1, cluster.molds.size
    assert_match(
      /was killed by SIGSEGV; its workers continue, another one is started in 1 s/,
      cluster.log.text
    )
    cluster.pass(2)
    assert_equal 2, cluster.molds.size
    cluster.mold.loaded
    cluster.mold.ends(signal: 11)
    cluster.pass(1)
    assert_equal 2, cluster.molds.size
  end

  def test_a_worker_that_does_not_become_ready_is_named_after_a_minute
    cluster = FakeCluster.new
    cluster.mold.loaded
    cluster.mold.obey.first.ready
    cluster.pass(70)
    late = /worker 1 \(process \d+\) is not ready after 6\d s: after_fork has not returned/
    assert_equal 1, cluster.log.text.scan(late).size
    assert_equal 0, cluster.log.text.scan(/worker 0 .* is not ready/).size
  end

  def test_a_mold_that_stands_still_is_killed_and_another_forks_what_it_should_have
    cluster = FakeCluster.new
    cluster.serving.first.ends(signal: 9)
    cluster.pass(60)
    assert_empty cluster.processes.killed
    cluster.pass(2)
    assert_includes cluster.processes.killed, cluster.mold.pid
    cluster.mold.heard
    cluster.mold.ends(signal: 9)
    cluster.mold.loaded
    assert_equal [0], cluster.mold.obey.map(&:number)
    assert_equal 1, cluster.log.text.scan("worker 0").size, "whom it never forked was never lost"
  end

  def test_a_worker_that_nobody_can_reap_counts_as_ended_when_its_process_is_gone
    cluster = FakeCluster.new
    worker = cluster.serving.first
    channel = worker.channel
    cluster.mold.ends(signal: 9)
    worker.control.close
    cluster.step
    refute_includes channel.calls, :end
    cluster.processes.gone << worker.pid
    cluster.step
    assert_includes channel.calls, :end
    assert_match(/worker 0 \(process #{worker.pid}\) has ended in an unknown way/, cluster.log.text)
  end

  def test_a_worker_whose_mold_has_other_things_to_do_is_seen_to_have_ended_all_the_same
    cluster = FakeCluster.new
    worker = cluster.serving.first
    cluster.processes.unreaped[worker.pid] = { code: nil, signal: 9 }
    worker.control.close
    cluster.step
    assert_equal [0], cluster.supervisor.workers.map { |other| other[:number] }.first(1)
    cluster.now += 0.2
    cluster.step
    assert_match(/worker 0 \(process #{worker.pid}\) was killed by SIGKILL$/, cluster.log.text)
    worker.mold.says(event: "ended", id: worker.id, pid: worker.pid, signal: 9)
    assert_equal [0], cluster.mold.obey.map(&:number)
  end

  def test_a_worker_that_cannot_be_heard_any_more_is_killed
    cluster = FakeCluster.new
    worker = cluster.serving.first
    worker.control.close
    cluster.pass(4)
    assert_equal [worker.pid], cluster.processes.killed.uniq
  end

  def test_a_mold_of_an_application_that_cannot_be_loaded_again_is_not_replaced
    cluster = FakeCluster.new(again: "loaded by rackup")
    workers = cluster.serving
    cluster.mold.ends(signal: 9)
    assert_equal 1, cluster.molds.size
    assert_match(/cannot be replaced/, cluster.log.text)
    workers.each do |worker|
      worker.control.close
      cluster.processes.gone << worker.pid
    end
    assert_nil cluster.supervisor.failure # they are still there, as far as is known
    3.times { cluster.step }
    assert_match(
      /\Ano worker is left, and none can be forked: loaded by rackup\z/,
      cluster.supervisor.failure.message
    )
    assert_match(/error: no worker is left, .*; the server ends$/, cluster.log.text)
    assert_includes cluster.engine.calls, :stop_now
    cluster.engine.running = false
    2.times { cluster.step }
    assert_predicate cluster.supervisor, :over?
  end

  # --- stuck, large, told to leave ---

  def test_a_worker_that_runs_one_request_for_too_long_is_asked_where_it_is_and_killed
    cluster = FakeCluster.new("timeouts.worker": 5)
    worker = cluster.serving.first
    worker.channel.figures[:busy_ns] = 6_000_000_000
    worker.channel.running << "GET /loop"
    cluster.pass(1)
    assert_equal [{ do: "backtrace" }], worker.told
    worker.says(event: "backtrace", lines: ["app.rb:3:in `spin'"])
    assert_equal [worker.pid], cluster.processes.killed
    over = /longer than 5 s without a pause \(timeouts worker\) and is replaced/
    assert_match(%r{#{over}; it runs GET /loop; at\n  app\.rb:3:in `spin'}, cluster.log.text)
  end

  def test_one_that_does_not_answer_is_killed_as_well
    cluster = FakeCluster.new("timeouts.worker": 5)
    worker = cluster.serving.first
    worker.channel.figures[:busy_ns] = 6_000_000_000
    cluster.pass(2)
    assert_equal [worker.pid], cluster.processes.killed
    assert_match(/a call in C holds Ruby's lock/, cluster.log.text)
  end

  def test_one_that_went_on_meanwhile_is_not
    cluster = FakeCluster.new("timeouts.worker": 5)
    worker = cluster.serving.first
    worker.channel.figures[:busy_ns] = 6_000_000_000
    cluster.pass(1)
    worker.channel.figures[:busy_ns] = 0
    cluster.pass(2)
    worker.says(event: "backtrace", lines: [])
    assert_empty cluster.processes.killed
  end

  def test_without_the_limit_a_request_may_take_as_long_as_it_likes
    cluster = FakeCluster.new("timeouts.worker": nil)
    cluster.serving.first.channel.figures[:busy_ns] = 10**15
    cluster.pass(5)
    assert_empty cluster.processes.killed
  end

  def test_a_worker_that_has_grown_too_large_retires_once_another_serves
    cluster = FakeCluster.new("limits.worker_bytes": 100_000_000)
    worker = cluster.serving.first
    cluster.processes.bytes[worker.pid] = 200_000_000
    cluster.pass(5)
    successor = cluster.mold.obey
    assert_equal [0], successor.map(&:number)
    assert_equal [:serve], worker.channel.calls
    successor.first.ready
    assert_equal %i[serve retire], worker.channel.calls
    worker.ends(code: 0)
    assert_match(/has 190 MB, more than 95 MB/, cluster.log.text)
    refute_match(/ended/, cluster.log.text)
  end

  def test_a_worker_with_sigterm_is_replaced_first_too
    cluster = FakeCluster.new
    worker = cluster.serving.last
    2.times { worker.says(event: "retire") }
    cluster.pass(2)
    successor = cluster.mold.obey
    assert_equal [1], successor.map(&:number)
    successor.first.ready
    assert_equal %i[serve retire], worker.channel.calls
  end

  def test_a_sigterm_for_all_processes_is_the_fronts_alone
    cluster = FakeCluster.new
    cluster.serving.each { |worker| worker.says(event: "retire") }
    cluster.post(:drain)
    cluster.pass(2)
    assert_empty cluster.mold.heard
    refute_match(/got SIGTERM/, cluster.log.text)
  end

  def test_a_retiring_worker_may_take_its_time_and_is_named_after_a_minute
    cluster = FakeCluster.new
    worker = cluster.serving.last
    cluster.post(:remove_worker)
    worker.channel.running << "GET /film"
    cluster.pass(62)
    assert_empty cluster.processes.killed
    assert_equal 1, cluster.log.text.scan(%r{still runs GET /film}).size
  end

  def test_a_retiring_worker_is_interrupted_when_the_time_for_that_is_over_and_killed_later
    cluster = FakeCluster.new("timeouts.retire": 5)
    worker = cluster.serving.last
    cluster.post(:remove_worker)
    worker.channel.running << "GET /film"
    cluster.pass(6)
    assert_equal [%i[serve retire interrupt], []], [worker.channel.calls, cluster.processes.killed]
    assert_match(%r{within 5 s \(timeouts retire\): they are ended where they wait; .*GET /film},
                 cluster.log.text)
    cluster.pass(4)
    assert_equal [worker.pid], cluster.processes.killed.uniq
    assert_equal %i[serve retire interrupt], worker.channel.calls
  end

  def test_one_that_hangs_in_at_exit_is_killed
    cluster = FakeCluster.new
    worker = cluster.serving.last
    cluster.post(:remove_worker)
    worker.says(event: "ending")
    cluster.pass(32)
    assert_empty cluster.processes.killed
    cluster.pass(2)
    assert_equal [worker.pid], cluster.processes.killed.uniq
    worker.ends(signal: 9)
    assert_match(/at_exit blocks had 30 s: timeouts \{ retire \} is their limit/, cluster.log.text)
  end

  # --- more and less ---

  def test_a_worker_more_and_a_worker_less
    cluster = FakeCluster.new
    workers = cluster.serving
    cluster.post(:add_worker)
    third = cluster.mold.obey.first.ready
    assert_equal [:serve], third.channel.calls
    2.times { cluster.post(:remove_worker) }
    calls = [*workers, third].map { |worker| worker.channel.calls }
    assert_equal([[:serve], %i[serve retire], %i[serve retire]], calls)
    cluster.post(:remove_worker)
    assert_equal [:serve], workers.first.channel.calls
    assert_match(/1 worker as before: from 1 to 128 are possible/, cluster.log.text)
  end

  def test_no_more_than_there_are_places_for
    cluster = FakeCluster.new(most: 2)
    cluster.serving
    cluster.post(:add_worker)
    assert_empty cluster.mold.obey
    assert_match(/2 workers as before: from 1 to 2 are possible/, cluster.log.text)
  end

  def test_one_without_a_place_waits_until_another_has_ended
    cluster = FakeCluster.new
    first, second = cluster.serving
    cluster.engine.places = 2
    first.says(event: "retire")
    cluster.pass(2)
    successor = cluster.mold.obey.first.ready
    cluster.pass(3)
    assert_empty successor.channel.calls
    second.ends(signal: 9)
    assert_equal [:serve], successor.channel.calls
    assert_equal %i[serve retire], first.channel.calls
    assert_equal 1, cluster.log.text.scan("worker 0 (process #{successor.pid}) is ready and").size
  end

  def test_one_that_waits_for_a_place_and_is_one_too_many_is_ended
    cluster = FakeCluster.new
    cluster.engine.places = 1
    first, second = cluster.serving
    cluster.post(:remove_worker)
    assert_equal [[:serve], []], [first, second].map { |worker| worker.channel.calls }
    assert_includes cluster.processes.killed, second.pid
  end

  # --- ending ---

  def test_a_drain_ends_what_does_not_serve_yet_and_waits_for_the_rest
    cluster = FakeCluster.new
    workers = cluster.serving
    cluster.post(:add_worker)
    third = cluster.mold.obey.first
    cluster.post(:drain)
    assert_equal [:drain], cluster.engine.calls
    assert_equal [third.pid], cluster.processes.killed
    third.ends(signal: 9)
    workers.each { |worker| worker.ends(code: 0) }
    assert_empty cluster.mold.obey
    assert_equal 1, cluster.engine.unavailable, "what still waits has nobody who would run it"
    assert_equal [cluster.mold.pid], cluster.supervisor.pids
    cluster.engine.running = false
    cluster.step
    cluster.mold.obey
    assert_predicate cluster.mold, :quit?
    cluster.mold.ends(code: 0)
    assert_predicate cluster.supervisor, :over?
    refute_match(/error/, cluster.log.text)
  end

  def test_a_cut_cuts
    cluster = FakeCluster.new
    cluster.serving
    cluster.post(:drain)
    cluster.post(:cut)
    assert_equal %i[drain stop_now], cluster.engine.calls
  end

  def test_a_channel_that_cannot_be_had_is_trouble_and_no_end
    cluster = FakeCluster.new
    cluster.engine.failures.push(Errno::EMFILE.new)
    cluster.mold.loaded
    assert_match(/worker 0 cannot be started: Too many open files/, cluster.log.text)
    assert_equal 1, cluster.engine.unavailable, "who waits has the descriptors"
    assert_empty cluster.mold.obey
    cluster.step
    assert_equal [0, 1], cluster.mold.obey.map(&:number)
    assert_nil cluster.engine.unavailable
  end
end
