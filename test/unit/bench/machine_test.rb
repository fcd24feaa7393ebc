# frozen_string_literal: true

require_relative "bench_case"

class BenchMachineTest < BenchCase
  def test_the_processor_is_named
    assert_equal "AMD EPYC", Machine.cpu_model(sample("cpuinfo"))
  end

  # cpu  85018 0 22572 433400 2276 0 1747 133 0 0: user 85018, nice 0, system 22572, steal 133
  def test_work_is_user_nice_system_and_stolen_time_without_idling_and_interrupts
    assert_equal 85_018 + 0 + 22_572 + 133, Machine.work_ticks(sample("stat_machine"))
  end

  # user, nice, system, idle, iowait, irq, softirq, steal
  def test_a_core_is_busy_with_all_but_idling_and_waiting_for_disks
    text = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 9 9 9 9 9 9 9 9 0 0\n" \
           "cpu1 100 20 3000 40000 500000 6 700 80 0 0\nintr 1\n"
    assert_in_delta 3906.fdiv(Etc.sysconf(Etc::SC_CLK_TCK)), Machine.core_seconds(1, text), 0.001
    assert_equal 0, Machine.core_seconds(10, text)
    assert_operator Machine.core_seconds(0), :>, 0
  end

  def test_the_description_of_this_machine_has_what_a_reader_needs
    facts = Machine.describe
    %w[cpu cores memory_bytes kernel ruby open_files_max load_average].each do |key|
      assert facts[key], key
    end
  end
end
