# frozen_string_literal: true

# A request's fiber may wait before the application is called: in the code that makes rack.input,
# or in a hook of Ruby's that runs as the fiber is switched to. By then the loop has written later
# requests over its record.

require_relative "../support/server_process_case"

class RackParkedBeginTest < ServerProcessCase
  # The ring has 1 MB, a request here more than 3,000 bytes.
  APP = <<~'RACKUP'
    $served = 0
    $parked = 0
    $over = false
    wait = lambda do
      $parked += 1
      enough = $served + 400
      sleep 0.01 until $served >= enough || $over
    end
    StringIO.prepend(Module.new do
      define_method(:initialize) do |*arguments|
        wait.call if arguments.first.to_s.start_with?("waits")
        super(*arguments)
      end
    end)
    armed = hooked = false
    TracePoint.new(:fiber_switch) do
      if armed && !Fiber.current.blocking? && !Thread.current[:serving]
        armed = false
        hooked = true
        wait.call
        hooked = false
      end
    end.enable
    run(lambda do |env|
      Thread.current[:serving] = true
      $served += 1
      armed = true if env["PATH_INFO"] == "/arms" && !hooked
      $over = env["PATH_INFO"] == "/over" if ["/begin", "/over"].include?(env["PATH_INFO"])
      words = env.values_at("PATH_INFO", "QUERY_STRING", "HTTP_X_NUMBER", "neverblock.request_id")
      [200, { "parked" => $parked.to_s }, [[*words, env["rack.input"]&.read].join(" ")]]
    end)
  RACKUP

  FILL = "f" * 3000

  def self.app = APP

  # The answers of `count` requests of one connection, each beside what it should be.
  def exchanges(count, path, body: "")
    connect do |connection|
      Array.new(count) do |number|
        id = "id-#{path[1..]}-#{number}"
        connection.write(request("#{path}?#{number}", "X-Fill: #{FILL}", "X-Number: #{number}",
                                 "X-Request-Id: #{id}", method: "POST", body: body))
        ["#{path} #{number} #{number} #{id} #{body}", connection.response.body]
      end
    end
  end

  # Requests that fill the ring with their records, beside those that wait.
  def beside
    stop = false
    ask("/begin")
    others = Array.new(8) do |client|
      Thread.new do
        pairs = []
        pairs.concat(exchanges(50, "/other#{client}", body: "b")) until stop
        pairs
      end
    end
    found = yield
    stop = true
    ask("/over")
    found + others.flat_map(&:value)
  end

  def parked = ask("/parked")["parked"].to_i

  def assert_own(pairs)
    wrong = pairs.reject { |wanted, seen| wanted == seen }

    assert_empty wrong.first(3), "#{wrong.size} of #{pairs.size} had another request's words"
  end

  def test_code_that_waits_as_the_input_is_made
    pairs = beside do
      waiting = Array.new(16) do |number|
        Thread.new { exchanges(3, "/waits#{number}", body: "waits #{number}") }
      end
      waiting.flat_map(&:value)
    end

    assert_own pairs
  end

  def test_a_hook_that_waits_as_the_fiber_is_switched_to
    before = parked
    pairs = beside { exchanges(1_000, "/arms", body: "b") }

    assert_own pairs
    assert_operator parked, :>, before, "no hook has run in a fiber that had not begun"
  end
end
