# frozen_string_literal: true

require_relative "workers/workers_case"

# Tests that workers are killed one after the other under load. Only what they were running fails,
# nobody else notices, and nothing stays behind.
# NB_WORKERS_SECONDS (20) is the length of the run, NB_WORKERS_SEED chooses the workers.
class WorkersKilledTest < WorkersCase
  SECONDS = Integer(ENV.fetch("NB_WORKERS_SECONDS", "20"), 10)
  MOLDS = 5
  SEED = Integer(ENV.fetch("NB_WORKERS_SEED", Random.new_seed.to_s), 10)

  def test_a_killed_worker_costs_what_it_was_running_and_nothing_else
    puts "seed #{SEED}, #{SECONDS} s"
    serve do |server|
      crowd(server) { nil } # what is made once, such as a thread's descriptors, is there
      before = holdings(server)
      killed, recoveries = []
      account = crowd(server) { killed, recoveries = kill_for(SECONDS) }
      report(account, killed, recoveries)
      assert_undisturbed(account, failed: @journal.open_on(killed) + taken(account, killed))
      assert_none @journal.begun_twice, "requests that were run twice"
      assert_operator killed.size, :>, 0
      assert_holds_as_before(before, server)
    end
  end

  # The process that workers are forked from: those that there are serve on, and a new one comes.
  def test_a_killed_mold_costs_nothing
    serve do |server|
      crowd(server) { nil }
      before = holdings(server)
      account = crowd(server) { MOLDS.times { kill_mold(server, before) } }
      puts summary(account)
      assert_undisturbed(account)
      assert_holds_as_before(before, server)
    end
  end

  private

  # By their titles: one whose workers another has forked has no children.
  def molds
    @tree.pids.select { |pid| File.read("/proc/#{pid}/cmdline").include?("mold") }
  rescue SystemCallError
    []
  end

  def kill_mold(server, before)
    old = await("mold") { molds.first }
    Process.kill(:KILL, old)
    await("new mold") do
      counted(server)[:processes] == before[:processes] && (molds - [old]).size == 1
    end
  end

  # A worker begins what it takes at once, before it takes the next. So each may have had one
  # request whose application had not reached its mark.
  def taken(account, killed)
    never_begun = account["failed"].map(&:first) - @journal.begun
    assert_operator never_begun.size, :<=, killed.size,
                    "failed and never begun, such as #{never_begun.first(8)}"
    never_begun
  end

  # Kills one worker that has served, now and then two, and waits until there are as many again.
  # @return [Array(Array<Integer>, Array<Float>)] ids of the killed; seconds until each successor
  #   was there
  def kill_for(seconds)
    rng = Random.new(SEED)
    killed = []
    recoveries = []
    limit = now + seconds
    while now < limit
      victims = await("worker that has served") do
        served = @tree.leaves & @journal.workers
        found = served.sample(rng.rand(5).zero? ? 2 : 1, random: rng)
        found unless found.empty?
      end
      at = now
      victims.each { |pid| Process.kill(:KILL, pid) }
      killed.concat(victims)
      await("successors") { (@tree.leaves - killed).size == WORKERS }
      recoveries << (now - at)
      sleep(rng.rand * 0.3)
    end
    [killed, recoveries]
  end

  def report(account, killed, recoveries)
    puts summary(account)
    after = format("%.2f s (median), %.2f s (longest)", recoveries.sort[recoveries.size / 2],
                   recoveries.max)
    puts "killed #{killed.size}, which had #{@journal.open_on(killed).size} requests begun; " \
         "successors after #{after}"
    account["failed"].group_by { |_, kind, text| [kind, text[/\A\w+/]] }.each do |(kind, text), all|
      puts "  #{kind} #{text}: #{all.size}"
    end
  end
end
