# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/boot/cgroup"
require "tmpdir"
require "fileutils"

class CgroupTest < Minitest::Test
  V2 = "0::/a/b\n"
  V1 = "12:cpu,cpuacct:/a/b\n4:memory:/a/b\n1:name=systemd:/a/b\n0::/\n"

  # What it is about => [/proc/self/cgroup, files, CPUs, bytes]
  GROUPS = {
    "version 2" => [
      V2,
      { "a/b/cpu.max" => "150000 100000\n", "a/b/memory.max" => "536870912\n" },
      1.5, 536_870_912
    ],
    "version 2 without limits" => [
      V2, { "a/b/cpu.max" => "max 100000\n", "a/b/memory.max" => "max\n" }, nil, nil
    ],
    "version 2 with a tighter group around" => [
      V2,
      {
        "a/b/cpu.max" => "400000 100000\n", "a/cpu.max" => "50000 100000\n",
        "a/b/memory.max" => "max\n", "a/memory.max" => "1048576\n"
      },
      0.5, 1_048_576
    ],
    "version 2 as a container sees it" => [
      "0::/\n", { "cpu.max" => "200000 100000\n", "memory.max" => "1048576\n" }, 2.0, 1_048_576
    ],
    "version 2 with the machine's path in a container" => [
      "0::/docker/4711\n", { "cpu.max" => "200000 100000\n" }, 2.0, nil
    ],
    "version 2 outside of the namespace's root" => [
      "0::/../../c\n",
      { "cpu.max" => "200000 100000\n", "c/cpu.max" => "1000 100000\n" },
      2.0, nil
    ],
    "version 1" => [
      V1,
      {
        "cpu,cpuacct/a/b/cpu.cfs_quota_us" => "250000\n",
        "cpu,cpuacct/a/b/cpu.cfs_period_us" => "100000\n",
        "memory/a/b/memory.limit_in_bytes" => "268435456\n"
      },
      2.5, 268_435_456
    ],
    "version 1 without limits" => [
      V1,
      {
        "cpu,cpuacct/a/b/cpu.cfs_quota_us" => "-1\n",
        "cpu,cpuacct/a/b/cpu.cfs_period_us" => "100000\n",
        "memory/a/b/memory.limit_in_bytes" => "9223372036854771712\n"
      },
      nil, nil
    ],
    "version 1 with a folder for each controller" => [
      V1,
      { "cpu/a/b/cpu.cfs_quota_us" => "50000\n", "cpu/a/b/cpu.cfs_period_us" => "100000\n" },
      0.5, nil
    ],
    "version 1 with the machine's path in a container" => [
      V1, { "memory/memory.limit_in_bytes" => "1048576\n" }, nil, 1_048_576
    ],
    "version 1 with a tighter group around" => [
      V1,
      {
        "memory/a/b/memory.limit_in_bytes" => "2097152\n",
        "memory/a/memory.limit_in_bytes" => "1048576\n"
      },
      nil, 1_048_576
    ],
    "both" => [
      V1.sub("0::/", "0::/u"),
      {
        "unified/u/cpu.max" => "100000 100000\n",
        "memory/a/b/memory.limit_in_bytes" => "1048576\n"
      },
      1.0, 1_048_576
    ],
    "none" => ["", {}, nil, nil],
    "files without sense" => [
      V2,
      {
        "a/b/cpu.max" => "lots of it\n", "a/cpu.max" => "", "cpu.max" => "0 0\n",
        "a/b/memory.max" => "-5\n", "a/memory.max" => "\xFF"
      },
      nil, nil
    ],
    "a list without sense" => [
      "cpu\n::::\n\xFF\n0\n", { "cpu.max" => "200000 100000\n" }, 2.0, nil
    ],
    "folders in place of files" => [
      V2, { "a/b/cpu.max/x" => "", "a/b/memory.max/x" => "" }, nil, nil
    ]
  }.freeze

  GROUPS.each do |about, (list, files, cpus, bytes)|
    define_method("test_#{about}: #{cpus.inspect} CPUs and #{bytes.inspect} bytes") do
      with_groups(list, files) do |cgroup|
        assert_equal [cpus, bytes], [cgroup.cpus, cgroup.memory_bytes]
      end
    end
  end

  VMSTAT = "nr_free_pages 3\noom_kill 7\n"

  # [/proc/self/cgroup, files, kills]
  KILLS = {
    "version 2" => [
      V2,
      {
        "a/b/memory.events" => "low 0\noom 9\noom_kill 2\noom_group_kill 1\n",
        "a/memory.events" => "oom_kill 5\n"
      },
      2
    ],
    "version 2 in the root, which does not count" => ["0::/\n", { "cgroup.procs" => "1\n" }, 7],
    "version 1" => [
      V1,
      { "memory/a/b/memory.oom_control" => "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n" },
      3
    ],
    "version 1 of an old kernel" => [
      V1, { "memory/a/b/memory.oom_control" => "oom_kill_disable 0\nunder_oom 0\n" }, 7
    ],
    "no group" => ["", {}, 7]
  }.freeze

  KILLS.each do |about, (list, files, kills)|
    define_method("test_#{about}: #{kills} processes were killed for want of memory") do
      with_groups(list, files) { |cgroup| assert_equal kills, cgroup.oom_kills }
    end
  end

  def test_a_count_is_read_anew_each_time
    with_groups(V2, { "a/b/memory.events" => "oom_kill 0\n" }) do |cgroup, root|
      assert_equal 0, cgroup.oom_kills
      File.write(File.join(root, "a/b/memory.events"), "oom_kill 1\n")
      assert_equal 1, cgroup.oom_kills
    end
  end

  def test_nothing_at_all_is_no_limit_and_no_count
    cgroup = NeverBlock::Boot::Cgroup.new(root: "/no/such", proc_root: "/no/such")
    assert_equal [nil, nil, 0], [cgroup.cpus, cgroup.memory_bytes, cgroup.oom_kills]
  end

  def test_this_machines_own_are_read_without_complaint
    cgroup = NeverBlock::Boot::Cgroup.new
    assert_operator cgroup.cpus || 1, :>, 0
    assert_operator cgroup.memory_bytes || 1, :>, 0
    assert_operator cgroup.oom_kills, :>=, 0
  end

  private

  def with_groups(list, files)
    Dir.mktmpdir do |directory|
      write(File.join(directory, "proc"), { "self/cgroup" => list, "vmstat" => VMSTAT })
      root = File.join(directory, "sys")
      write(root, files)
      yield NeverBlock::Boot::Cgroup.new(root: root, proc_root: File.join(directory, "proc")), root
    end
  end

  def write(root, files)
    files.each do |name, text|
      path = File.join(root, name)
      FileUtils.mkdir_p(File.dirname(path))
      File.binwrite(path, text)
    end
  end
end
