# frozen_string_literal: true

require_relative "../verbs/verbs_case"

class BulkheadTest < VerbsCase
  Bulkhead = NB::Bulkhead

  def test_so_many_are_inside_at_once_in_the_order_in_which_they_came
    bulkhead = Bulkhead.new(2)
    order, most = [], 0
    run_loop do
      5.times do |number|
        Fiber.schedule do
          bulkhead.call do
            order << number
            most = [most, bulkhead.stats[:held]].max
            sleep(0.001)
          end
        end
      end
    end
    assert_equal [(0..4).to_a, 2], [order, most]
    assert_equal({ places: 2, held: 0, waiting: 0 }, bulkhead.stats)
  end

  def test_threads_wait_too
    bulkhead = Bulkhead.new(1)
    most = 0
    bounded do
      Array.new(4) { |number|
        Thread.new do
          bulkhead.call do
            most = [most, bulkhead.stats[:held]].max
            Thread.pass
            number
          end
        end
      }.map(&:value)
    end
    assert_equal 1, most
  end

  def test_it_gives_the_value_and_a_fiber_inside_needs_no_second_place
    bulkhead = Bulkhead.new(1, queue: 0)
    assert_equal(3, run_loop { bulkhead.call { bulkhead.call { bulkhead.stats[:held] + 2 } } })
    assert_equal 0, bulkhead.stats[:held]
  end

  def test_who_finds_the_queue_full_is_refused_at_once
    bulkhead = Bulkhead.new(1, queue: 1, name: :search)
    beside_holders(bulkhead, 2) do
      error = assert_raises(Bulkhead::Full) { bulkhead.call { flunk } }
      assert_equal "the bulkhead search has no free place: 1 of 1 are held, and 1 wait already",
                   error.message
      assert_kind_of NB::Error, error
    end
    assert_equal :in, bulkhead.call { :in }
  end

  def test_who_waits_in_vain_is_refused_and_the_next_is_served
    bulkhead = Bulkhead.new(1, wait: 0.01)
    beside_holders(bulkhead) do |gate|
      error = assert_raises(Bulkhead::Full) { bulkhead.call { flunk } }
      assert_match(/no place became free within 0\.01 s\z/, error.message)
      gate << true
      sleep(0)
      assert_equal :in, bulkhead.call { :in }
    end
  end

  def test_a_wait_of_zero_is_none
    bulkhead = Bulkhead.new(1, wait: 0)
    beside_holders(bulkhead) do
      assert_raises(Bulkhead::Full) { bulkhead.call { flunk } }
    end
  end

  def test_whatever_leaves_the_block_gives_the_place_back
    bulkhead = Bulkhead.new(1, queue: 0)
    run_loop do
      assert_raises(Failure) { bulkhead.call { raise Failure } }
      catch(:out) { bulkhead.call { throw :out } }
      [1].each { bulkhead.call { break } }
      assert_raises(NB::DeadlineExceeded) { NB.deadline(0.001) { bulkhead.call { sleep } } }
      assert_raises(Failure) { NB.all(-> { bulkhead.call { sleep } }, -> { raise Failure }) }
    end
    assert_equal 0, bulkhead.stats[:held]
  end

  def test_who_is_ended_while_waiting_leaves_no_trace
    bulkhead = Bulkhead.new(1)
    beside_holders(bulkhead) do
      assert_raises(NB::DeadlineExceeded) { NB.deadline(0.001) { bulkhead.call { flunk } } }
      assert_equal({ places: 1, held: 1, waiting: 0 }, bulkhead.stats)
    end
    assert_equal 0, bulkhead.stats[:held]
  end

  def test_a_blocking_fiber_does_not_wait_for_those_it_keeps_from_running
    bulkhead = Bulkhead.new(1)
    beside_holders(bulkhead) do
      error = assert_raises(Bulkhead::Full) do
        NeverBlock::Compat.blocking { bulkhead.call { flunk } }
      end
      assert_includes error.message, "a blocking fiber would wait for ever"
    end
  end

  def test_the_place_of_a_fiber_that_can_never_go_on_is_given_to_a_waiter
    bulkhead = Bulkhead.new(1)
    run_loop do
      leave_half_way(bulkhead)
      assert_equal 1, bulkhead.stats[:held]
      waits = true
      Fiber.schedule do
        while waits
          GC.start
          sleep(0.01)
        end
      end
      assert_equal :in, bulkhead.call { :in }
      waits = false
    end
    assert_equal 0, bulkhead.stats[:held]
  end

  def test_the_place_of_a_thread_that_has_ended_is_taken_back
    bulkhead = Bulkhead.new(1, queue: 0)
    inside = Thread::Queue.new
    thread = Thread.new do
      NB.run do
        Fiber.schedule { bulkhead.call { inside << true && sleep } }
        sleep
      end
    end
    inside.pop
    thread.kill.join
    assert_equal :in, bulkhead.call { :in }
  end

  def test_any_length_of_wait_is_one
    [nil, Float::INFINITY, 1e300].each do |wait|
      bulkhead = Bulkhead.new(1, wait: wait)
      beside_holders(bulkhead) do |gate|
        gate << true
        assert_equal :in, bulkhead.call { :in }
      end
    end
  end

  def test_a_child_process_has_places_of_its_own
    bulkhead = Bulkhead.new(1, queue: 0)
    reader, writer = IO.pipe
    run_loop do
      bulkhead.call do
        pid = fork do
          writer.write(Thread.new { bulkhead.call { bulkhead.stats[:held] } }.value)
          exit!(0)
        end
        Process.wait(pid)
      end
    end
    writer.close
    assert_equal "1", reader.read
  ensure
    reader.close
  end

  def test_what_it_cannot_be_made_with_is_told
    { [0] => "places is a whole number of at least 1, not 0",
      [1.5] => "not 1.5",
      [1, { queue: -1 }] => "queue is a whole number of at least 0, not -1",
      [1, { wait: "2" }] => "wait is a number of seconds of at least 0, or nil for no limit, " \
                            "not \"2\"",
      [1, { wait: -1 }] => "not -1",
      [1, { wait: 0.0 / 0 }] => "not NaN" }.each do |(places, rest), words|
      error = assert_raises(ArgumentError) { Bulkhead.new(places, **rest.to_h) }
      assert_includes error.message, words
    end
    assert_raises(ArgumentError) { Bulkhead.new(1).call }
  end

  def test_it_is_known_by_its_name_or_its_place
    assert_equal "#<NeverBlock::Bulkhead search: places 2, held 0, waiting 0>",
                 Bulkhead.new(2, name: "search").inspect
    assert_match(/bulkhead_test\.rb:#{__LINE__ + 1}\z/,
                 Bulkhead.new(2).name)
  end

  private

  def leave_half_way(bulkhead)
    Fiber.schedule { Enumerator.new { |yielder| bulkhead.call { yielder << 1 } }.next }
    Array.new(10_000) { |number| number.to_s } # what else is on the stack is overwritten
  end

  # Within a loop whose fibers use, or wait for, so many places until the block ends.
  def beside_holders(bulkhead, count = 1)
    run_loop do
      gate = Thread::Queue.new
      count.times { Fiber.schedule { bulkhead.call { gate.pop } } }
      yield gate
    ensure
      count.times { gate << true }
    end
  end
end
