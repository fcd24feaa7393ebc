# frozen_string_literal: true

require_relative "../verbs/verbs_case"
require "neverblock/db/admission"
require "neverblock/pool/wait_queue"

class AdmissionTest < VerbsCase
  Admission = NeverBlock::DB::Admission
  WaitQueue = NeverBlock::Pool::WaitQueue

  # An application whose requests do what they are told: nothing, or wait, or enter the wait queue.
  class App
    attr_reader :inside, :queue

    def initialize(places)
      @queue = WaitQueue.new(places)
      @inside = []
    end

    def call(env)
      @inside << env["name"]
      env["steps"].each { |step| send(step) }
      raise VerbsCase::Failure if env["fails"]
    ensure
      @queue.leave(Fiber.current)
    end

    def elsewhere
      sleep(0)
    end

    def connection
      Admission.asks(@queue.admission_queue)
      @queue.enter(Fiber.current, VerbsCase::SECONDS)
    end

    # Until somebody resumes the fiber: what takes long.
    def work
      (@works ||= Thread::Queue.new).pop
    end

    def finish(count = 1)
      count.times { @works << true }
    end
  end

  def setup
    @app = App.new(1)
    @admission = Admission.new(@app)
  end

  def test_requests_wait_before_the_application_when_the_queue_of_their_class_is_full
    run_loop do
      4.times { |number| visit("/notes/#{number}", :connection, :work) }

      assert_equal %w[/notes/0 /notes/1], @app.inside,
                   "one has the connection, and one is in the wait queue"
      assert_equal 2, @app.queue.admission_queue.waiting
      4.times do
        @app.finish
        turns
      end
    end

    assert_equal %w[/notes/0 /notes/1 /notes/2 /notes/3], @app.inside
    queue = @app.queue
    assert_equal [0, 0, 0], [queue.admission_queue.waiting, queue.waiting, queue.held]
  end

  def test_others_are_never_held
    crowded do
      visit("/quick")
      visit("/notes", method: "POST")

      assert_equal [%w[/quick /notes], 0], [@app.inside.last(2), @app.queue.admission_queue.waiting]
    end
  end

  def test_nor_are_those_whose_class_waits_for_something_else_before_it_needs_a_connection
    run_loop { visit("/search", :elsewhere, :connection) }
    crowded do
      visit("/search", :elsewhere, :connection)

      assert_equal ["/search", 0], [@app.inside.last, @app.queue.admission_queue.waiting]
    end
  end

  def test_a_class_that_needed_no_connection_is_not_held_any_more
    crowded do
      fiber = visit("/notes/5") # needs none this time
      assert_equal 1, @app.queue.admission_queue.waiting
      @app.finish
      sleep(0) while fiber.alive?
      visit("/others/1", :connection, :work) # the wait queue is full again
      visit("/notes/2")

      assert_equal ["/notes/2", 0], [@app.inside.last, @app.queue.admission_queue.waiting]
    end
  end

  def test_an_application_that_fails_holds_nothing_up
    run_loop do
      5.times { |number| visit("/notes/#{number}", :connection, :elsewhere, fails: true) }
    end

    assert_equal [5, 0, 0], [@app.inside.size, @app.queue.admission_queue.waiting, @app.queue.held]
  end

  def test_in_a_blocking_fiber_nobody_is_held
    crowded { NeverBlock::Compat.blocking { call("/notes/1") } }

    assert_equal "/notes/1", @app.inside.last
  end

  def test_requests_are_of_a_class_by_method_and_path_but_for_parts_with_digits
    of = ->(path, method = "GET") { NeverBlock::Executor.request_class_of(method, path) }

    assert_equal of.call("/notes/17/edit"), of.call("/notes/4f3c-18/edit")
    refute_equal of.call("/notes/17/edit"), of.call("/notes/17")
    refute_equal of.call("/notes"), of.call("/notes", "POST")
    assert_includes 1...(2**62), of.call("/caf\xC3\xA9\xFF".b), "it costs no object"
    assert_raises(TypeError) { of.call(nil) }
  end

  def test_where_no_executor_runs_nothing_is_shut
    refute NeverBlock::Executor.close_request_class(7)
    assert_nil NeverBlock::Executor.open_request_class(7)
  end

  def test_no_more_classes_are_remembered_than_so_many
    queues = Admission::KnownQueues.new
    (Admission::KnownQueues::MAX + 10).times { |number| queues.learn(number, :queue) }

    assert_nil queues.queue_of(9)
    assert_equal :queue, queues.queue_of(10)
  end

  private

  # Calls the block while one request has the connection and one is in the wait queue.
  def crowded
    run_loop do
      2.times { visit("/notes/0", :connection, :work) }
      yield
      @app.finish(10)
    end
  end

  def visit(path, *steps, **options)
    Fiber.schedule { call(path, *steps, **options) }
  end

  def call(path, *steps, method: "GET", fails: false)
    @admission.call(
      "REQUEST_METHOD" => method, "PATH_INFO" => path,
      "name" => path, "steps" => steps, "fails" => fails
    )
  rescue Failure
    nil
  end

  def turns
    10.times { sleep(0) }
  end
end
