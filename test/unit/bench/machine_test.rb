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

  def test_the_description_of_this_machine_has_what_a_reader_needs
    facts = Machine.describe
    %w[cpu cores memory_bytes kernel ruby open_files_max load_average].each { |key| assert facts[key], key }
  end
end
