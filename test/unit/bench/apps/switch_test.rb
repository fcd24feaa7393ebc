# frozen_string_literal: true

require_relative "app_case"

class BenchSwitchAppTest < AppCase
  def test_each_task_does_its_operations_and_says_what_they_cost
    { "resume" => 1, "yield" => 100, "io" => 2, "thread" => 1, "dns" => 10 }.each do |task, fibers|
      found = measure("switch.rb", { way: "neverblock", task: task, fibers: fibers, seconds: 0,
                                     warmup_seconds: 0 })
      assert_operator found["count"], :>=, 10_000, task
      assert_operator found["cpu_seconds"], :>, 0, task
    end
  end

  def test_a_task_that_is_none_is_an_error
    error = assert_raises(Error) do
      measure("switch.rb", { way: "neverblock", task: "send", fibers: 1, seconds: 0,
                             warmup_seconds: 0 })
    end
    assert_match(/no task is called send/, error.message)
  end
end
