# frozen_string_literal: true

require_relative "bench_case"

class BenchCoresTest < BenchCase
  def test_the_program_has_every_core_but_the_last
    assert_equal [%w[taskset -c 0-0], %w[taskset -c 0-6], []],
                 [2, 8, 1].map { |count| Cores.program_prefix(count) }
  end

  def test_the_server_is_moved_to_the_last_core
    last = Etc.nprocessors - 1
    skip "one core" if last.zero?
    pid = Process.spawn("sleep", "60")
    Cores.give_server(pid)
    assert_equal last.to_s, File.read("/proc/#{pid}/status")[/^Cpus_allowed_list:\s+(.*)$/, 1]
  ensure
    Process.kill(:KILL, pid) && Process.wait(pid) if pid
  end

  def test_the_servers_core_is_the_last
    Etc.stub(:nprocessors, 8) { assert_equal 7, Cores.servers }
  end

  def test_of_a_tree_every_process_is_moved
    moved = []
    tree = Struct.new(:pids).new([3, 4])
    Cores.stub(:give_server, ->(pid) { moved << pid }) { Cores.give_tree(tree) }
    assert_equal [3, 4], moved
  end

  def test_on_one_core_nothing_is_moved
    assert_nil Cores.give_server(0, 1)
  end

  def test_a_server_that_cannot_be_moved_is_an_error
    pid = Process.spawn("true")
    Process.wait(pid)
    error = assert_raises(Error) { Cores.give_server(pid, 2) }
    assert_match(/could not move the server/, error.message)
  end
end
