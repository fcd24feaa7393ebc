# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/boot/processors"
require "neverblock/config"

class ProcessorsTest < Minitest::Test
  Processors = NeverBlock::Boot::Processors
  Group = Struct.new(:cpus)

  # CPUs of the process, of its group => count
  COUNTS = [[8, nil, 8], [8, 2.0, 2], [8, 1.5, 2], [8, 0.1, 1], [2, 64.0, 2], [1, nil, 1]].freeze

  COUNTS.each do |bound, granted, count|
    define_method("test_#{bound} CPUs and time for #{granted.inspect} are #{count} workers") do
      found = { cgroup: Group.new(granted), bound: bound }
      assert_equal count, Processors.count(**found)
      assert_equal count, Processors.workers(:auto, **found)
      assert_equal 3, Processors.workers(3, **found)
    end
  end

  def test_auto_is_never_more_than_workers_may_be
    assert_equal 128, Processors.workers(:auto, cgroup: Group.new(nil), bound: 1_024)
  end

  def test_a_process_bound_to_one_cpu_has_one
    skip "taskset is not here" unless system("taskset --version >/dev/null 2>&1")

    code = "require 'neverblock/boot/processors'; puts NeverBlock::Boot::Processors.count"
    ruby = [RbConfig.ruby, "-I#{File.expand_path("../../../lib", __dir__)}", "-e", code]
    assert_equal "1\n", IO.popen(["taskset", "-c", first_cpu, *ruby], &:read)
  end

  private

  def first_cpu
    File.read("/proc/self/status")[/^Cpus_allowed_list:\s*(\d+)/, 1]
  end
end
