# frozen_string_literal: true

require "fileutils"
require_relative "bench_case"

class BenchProcessTreeTest < BenchCase
  def test_a_stat_line_is_read_past_a_name_with_spaces_and_parentheses
    stat = ProcessTree.parse_stat(sample("stat_name_with_parentheses"))
    assert_equal [18_328, 18_325, 18_325, 0], stat.to_a
  end

  def test_cpu_time_is_user_and_system_time_of_the_process_and_of_the_children_it_waited_for
    line = stat_line(7, parent: 1, group: 7, times: [100, 20, 3, 4])
    assert_equal 127, ProcessTree.parse_stat(line).cpu_ticks
  end

  def test_resident_memory_is_read_in_bytes
    assert_equal sample("status")[/VmRSS:\s+(\d+)/, 1].to_i * 1024,
                 ProcessTree.parse_rss(sample("status"))
    assert_operator ProcessTree.parse_rss(sample("status")), :>, 0
  end

  def test_a_zombie_has_no_memory
    assert_equal 0, ProcessTree.parse_rss("Name:\tx\nState:\tZ (zombie)\n")
  end

  def test_the_tree_is_the_group_and_every_descendant_but_no_neighbour
    with_processes(10 => { parent: 1, group: 10 }, 11 => { parent: 1, group: 10 },
                   12 => { parent: 11, group: 12 }, 13 => { parent: 12, group: 12 },
                   20 => { parent: 1, group: 20 }) do |tree|
      assert_equal [10, 11, 12, 13], tree.pids
    end
  end

  def test_leaves_are_those_without_children_and_never_the_leader
    with_processes(10 => { parent: 1, group: 10 }, 11 => { parent: 10, group: 10 },
                   12 => { parent: 11, group: 10 }, 13 => { parent: 11, group: 10 },
                   14 => { parent: 10, group: 10 }, 20 => { parent: 1, group: 20 }) do |tree|
      assert_equal [12, 13, 14], tree.leaves
    end
    with_processes(10 => { parent: 1, group: 10 }) { |tree| assert_equal [], tree.leaves }
  end

  def test_cpu_and_memory_are_summed_over_the_tree
    with_processes(10 => { parent: 1, group: 10, times: [150, 50, 0, 0], rss_kb: 100 },
                   11 => { parent: 10, group: 10, times: [10, 0, 0, 40], rss_kb: 7 },
                   20 => { parent: 1, group: 20, times: [999, 0, 0, 0], rss_kb: 999 }) do |tree|
      assert_in_delta 2.5, tree.cpu_seconds
      assert_equal 107 * 1024, tree.rss_bytes
    end
  end

  def test_this_very_process_is_found_with_the_kernels_own_files
    tree = ProcessTree.new(Process.pid)
    assert_equal Process.pid, tree.pids.first
    assert_operator tree.rss_bytes, :>, 5_000_000
    before = tree.cpu_seconds
    limit = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) + 0.1
    nil until Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) > limit
    assert_operator tree.cpu_seconds - before, :>=, 0.08
  end

  def test_a_process_that_ended_between_two_reads_is_left_out
    with_processes(10 => { parent: 1, group: 10, rss_kb: 5 }) do |tree, directory|
      Dir.mkdir(File.join(directory, "11"))
      assert_equal [10], tree.pids
    end
  end

  private

  def with_processes(processes)
    Dir.mktmpdir do |directory|
      processes.each do |pid, facts|
        folder = File.join(directory, pid.to_s)
        stat = stat_line(pid, **facts.slice(:parent, :group, :times))
        Dir.mkdir(folder)
        File.write(File.join(folder, "stat"), stat)
        File.write(File.join(folder, "status"), "VmRSS:\t  #{facts.fetch(:rss_kb, 1)} kB\n")
      end
      yield ProcessTree.new(10, proc_directory: directory, ticks_per_second: 100), directory
    end
  end

  # The captured line with other numbers in it.
  def stat_line(pid, parent:, group:, times: [0, 0, 0, 0])
    fields = sample("stat_name_with_parentheses").split(") ").last.split
    fields[1] = parent
    fields[2] = group
    fields[11..14] = times
    "#{pid} (a (b) c) #{fields.join(" ")}\n"
  end
end
