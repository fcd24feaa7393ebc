# frozen_string_literal: true

require "open3"
require_relative "workers/workers_case"

# Tests new code again and again, under load. No connection is closed, no request fails, and each
# time the new version answers.
# NB_WORKERS_RELOADS (20) is the number of reloads.
class WorkersReloadedTest < WorkersCase
  RELOADS = Integer(ENV.fetch("NB_WORKERS_RELOADS", "20"), 10)
  IDLE = 2000
  BUSY = { "small" => 150, "spooled" => 15, "streamed" => 10, "download" => 10, "chunks" => 8,
           "events" => 7 }.freeze
  # Beside it the machine has to load an application twenty times.
  PAUSE_S = 0.5
  # Answers in a row, each on a connection of its own, that have to be the new version's. So all
  # four workers are asked.
  ANSWERS = 20

  def test_reloads_cost_no_connection_and_no_request
    serve(file: "timeouts { idle 3600 }\n") do |server|
      crowd(server) { nil }
      before = holdings(server)
      seconds = []
      account = crowd(server, kinds: BUSY, idle: IDLE, pause_s: PAUSE_S) do
        (2..(RELOADS + 1)).each { |version| seconds << reload(server, version.to_s, before) }
      end
      puts summary(account), format("%d reloads, %.1f s (median), %.1f s (longest)", RELOADS,
                                    seconds.sort[seconds.size / 2], seconds.max)
      assert_undisturbed(account)
      assert_none @journal.begun_twice, "requests that were run twice"
      assert_empty ("1"..(RELOADS + 1).to_s).to_a - account["versions"],
                   "versions that answered nobody"
      assert_holds_as_before(before, server)
    end
  end

  private

  # Until the new version answers everybody and the old processes have gone.
  # @return [Float] seconds
  def reload(server, version, before)
    old = @tree.pids - [server.pid]
    write_version(version)
    at = now
    version.to_i.even? ? Process.kill(:HUP, server.pid) : command
    await("answers of version #{version}") do
      Array.new(ANSWERS) {
        server.connect { |wire| wire.get("/version") && wire.response["x-version"] }
      }.uniq == [version]
    end
    await("end of #{old}") { (@tree.pids & old).empty? && @tree.pids.size == before[:processes] }
    now - at
  end

  def command
    said, status = Open3.capture2e(RbConfig.ruby, "-I", File.join(ServerProcess::ROOT, "lib"),
                                   File.join(ServerProcess::ROOT, "exe/neverblock"),
                                   "reload", "--pidfile", in_directory("pid"))
    assert_predicate status, :success?, said
  end
end
