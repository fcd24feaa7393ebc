# frozen_string_literal: true

require "open3"
require_relative "workers/workers_case"

# Tests code that cannot boot. After a reload the old version goes on and the command says why. At
# the first start the address answers 503 until the cause is mended.
class WorkersBrokenTest < WorkersCase
  WORKERS = 2

  # What stands in the file that the application loads first, and what the reason has to name.
  BROKEN = {
    "a syntax error" => ["def broken(", /syntax|unexpected/i],
    "an exception" => ["raise 'the moon is full'", /the moon is full/],
    "a crash" => ["Process.kill(:SEGV, Process.pid); sleep", /SIGSEGV|SIGABRT/],
    "an exit" => ["exit!(3)", /3|exit/i]
  }.freeze

  BROKEN.each do |name, (code, reason)|
    define_method("test_#{name.tr(" ", "_")}_in_the_new_version_leaves_the_old_one_at_work_" \
                  "and_reload_says_why") { refused(code, reason) }
  end

  # The application loads, and each worker dies in its hook.
  def test_a_worker_that_dies_after_its_fork_leaves_the_old_ones_at_work_and_reload_says_why
    refused("# broken hook", /SIGSEGV|SIGABRT/)
  end

  def test_a_broken_version_that_hup_brings_is_told_in_the_log
    write_part("")
    serving do |server|
      old = settled(server)
      write_part("raise 'the moon is full'")
      Process.kill(:HUP, server.pid)
      server.await_stderr(/the moon is full/)
      assert_serves_on(server, old)
    end
  end

  # The first start: nothing to go on with, so the address says when to come again.
  { "while_it_loads_the_application" => "Process.kill(:SEGV, Process.pid); sleep",
    "after_its_fork" => "# broken hook" }.each do |name, code|
    define_method("test_while_what_boots_crashes_#{name}_the_address_answers_503_" \
                  "and_serves_once_it_is_mended") { mended(code) }
  end

  private

  # The rackup file loads a part that the tests write.
  def broken_rackup
    rackup("load #{in_directory("part.rb").inspect}")
  end

  # Each worker dies in it where the part says so.
  def hook
    "after_fork { |_number| Process.kill(:SEGV, Process.pid) && sleep " \
      "if File.read(#{in_directory("part.rb").inspect}).include?('broken hook') }\n"
  end

  def write_part(code)
    File.write(in_directory("part.rb"), code)
  end

  def serving(&block)
    serve(broken_rackup, workers: WORKERS, file: hook, &block)
  end

  # @return [Array<Integer>] the processes behind the front
  def settled(server)
    assert_equal "1", ask(server.url)["x-version"]
    @tree.pids - [server.pid]
  end

  def refused(code, reason)
    write_part("")
    serving do |server|
      old = settled(server)
      write_part(code)
      write_version("2")
      said, status = reload
      assert_equal 1, status.exitstatus, said
      assert_match reason, said
      assert_serves_on(server, old)
      write_part("")
      said, status = reload
      assert_predicate status, :success?, said
      await("version 2") { ask(server.url)["x-version"] == "2" }
    end
  end

  def assert_serves_on(server, old)
    await("end of what could not boot") { (@tree.pids - [server.pid]).sort == old.sort }
    crowd(server, kinds: { "small" => 4 }) { nil }.then do |account|
      assert_undisturbed(account) || assert_equal(["1"], account["versions"])
    end
  end

  def mended(code)
    write_part(code)
    File.write(in_directory("config.rb"), hook)
    address = "unix://#{in_directory("socket")}"
    words = ["-w", WORKERS.to_s, "-C", in_directory("config.rb"), "--pidfile", in_directory("pid")]
    started(ServerProcess.new(broken_rackup, binds: [address], options: words, env: environment),
            :launch) do |server|
      await("socket") { File.socket?(in_directory("socket")) }
      refusal = await("503") { ask(address).then { |answer| answer.status == 503 ? answer : nil } }
      assert_match(/\A[1-9]\d*\z/, refusal["retry-after"])
      server.await_stderr(/killed by SIG(SEGV|ABRT).*next attempt is in/)
      write_part("")
      await("an answer") { ask(address).status == 200 }
      await("#{WORKERS} workers") { @tree.leaves.size == WORKERS }
    end
  end

  def ask(url)
    Wire::Client.open(url) { |wire| wire.get("/small", "X-Id: test") && wire.response }
  end

  def reload
    Open3.capture2e(RbConfig.ruby, "-I", File.join(ServerProcess::ROOT, "lib"),
                    File.join(ServerProcess::ROOT, "exe/neverblock"),
                    "reload", "--pidfile", in_directory("pid"))
  end
end
