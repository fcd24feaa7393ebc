# frozen_string_literal: true

# Code that was written for threads gives the answers it gives there. What belongs to a thread is
# each request's own, and limits end work that does not wait.

require "socket"

require_relative "../support/server_process_case"

class UnchangedTest < ServerProcessCase
  AT_ONCE = 16
  WORKS = %w[compute match sort compute_in_enumerator wait_in_enumerator lock_in_enumerator].freeze

  class << self
    def app
      <<~RACKUP
        require "#{File.expand_path("app_habits", "#{__dir__}/../support")}"
        require "#{File.expand_path("app_state", "#{__dir__}/../support")}"
        map("/fiber") { use Habits::InFiber; run Habits.new(Barrier.new) }
        run Habits.new(Barrier.new)
      RACKUP
    end

    def server_options
      {
        options: [
          "-C", configuration,
          *ServerProcess.one_process("all requests are to be inside of one process")
        ],
        env: { "NB_TEST_DATABASE" => "mock://postgres" }
      }
    end

    def configuration
      folder = Dir.mktmpdir("neverblock-unchanged")
      Minitest.after_run { FileUtils.rm_rf(folder) }
      File.join(folder, "neverblock.rb").tap { |file| File.write(file, <<~CONFIG) }
        executor { slice_ms 2 }
        cancel_on_disconnect true
      CONFIG
    end
  end

  # Before threads ask it.
  def setup
    server
  end

  def test_the_status_of_a_command_is_its_requests_own
    answers = at_once("status") { |me| { me: me } }
    assert_equal((0...AT_ONCE).map { |me| [nil, me, me, me] }, answers)
  end

  def test_thread_variables_are_their_requests_own_and_their_enumerators
    answers = at_once("variables") { |me| { me: me } }
    own = (0...AT_ONCE).map { |me| [me.to_s, true, me.to_s, me.to_s] }
    found = answers.map { |(name, _, mdc, local), *rest| [[name, [], mdc, local], *rest] }
    assert_equal(own.map { |values| [[nil, [], nil, 0], values, values] }, found)
    last = parsed(ask("/variables?me=last")).first
    assert_equal [nil, nil, 0], last.values_at(0, 2, 3), "nothing is left for the next request"
  end

  def test_a_kept_client_is_kept_and_state_is_not
    accepted = 0
    TCPServer.open("127.0.0.1", 0) do |echo|
      serving = Thread.new { loop { echo_to(echo.accept).tap { accepted += 1 } } }
      6.times do |round|
        answers = at_once("client", held: false) do |me|
          { me: "#{me}.#{round}", port: echo.addr[1] }
        end
        assert_equal((0...AT_ONCE).map { |me| ["#{me}.#{round}", [nil, nil]] }, answers)
      end
      # A client has its answer before its fiber is free: the next request may meet it still busy.
      assert_operator accepted, :<=, 2 * AT_ONCE
    ensure
      serving&.kill
    end
  end

  WORKS.each do |work|
    define_method("test_a_timeout_ends_#{work}") do
      assert_equal "over", parsed(ask("/limited?work=#{work}"))
    end
    define_method("test_a_deadline_ends_#{work}") do
      assert_equal "over", parsed(ask("/deadline?work=#{work}"))
    end
  end

  def test_limits_beside_each_other_and_beside_others_that_compute_end_their_own_work_only
    answers = WORKS.cycle.first(AT_ONCE).map do |work|
      Thread.new { parsed(ask("/limited?work=#{work}")) }
    end
    others = at_once("status") { |me| { me: me } }
    assert_equal ["over"] * AT_ONCE, answers.map(&:value)
    assert_equal((0...AT_ONCE).map { |me| [nil, me, me, me] }, others)
  end

  def test_what_is_ended_runs_its_ensure_once
    assert_equal [["ensure", "execution expired"]] * AT_ONCE, at_once("ended") { |me| { me: me } }
  end

  def test_a_client_that_leaves_ends_its_request_in_a_fiber_of_a_middleware
    %w[/unlimited /fiber/unlimited].each do |target|
      tag = new_tag
      connect do |client|
        client.write(request("#{target}?work=wait_in_enumerator&tag=#{tag}"))
        events.await("began", tag)
      end
      assert_equal ["NeverBlock::ClientGone"],
                   events.await("ended", tag).map { |event| event["error"] }
    end
  end

  private

  def echo_to(client)
    Thread.new { client.each_line { |line| client.write(line) } }
  end

  # @return [Array] the answers, of requests that are all inside before any goes on
  def at_once(route, held: true)
    Array.new(AT_ONCE) do |me|
      query = held ? { at_once: AT_ONCE, **yield(me) } : yield(me)
      Thread.new { parsed(ask("/#{route}?#{query.map { |pair| pair.join("=") }.join("&")}")) }
    end.map(&:value)
  end
end
