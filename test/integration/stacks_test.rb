# frozen_string_literal: true

# A request goes as deep as on a thread, and one that goes too deep costs itself only.

require_relative "../support/server_process_case"

class StacksTest < ServerProcessCase
  AT_ONCE = 20
  # What is asked for in C: so deep that a fiber of Ruby's own size ends in SystemStackError.
  LEVELS = { "marshal" => 2_000, "inspect" => 1_000, "json" => 90, "html5" => 390 }.freeze

  class << self
    def app
      <<~RACKUP
        require "json"
        require "nokogiri"
        class Depth
          def call(env)
            kind = env["PATH_INFO"].delete_prefix("/")
            found = respond_to?(kind) ? public_send(kind, env["QUERY_STRING"].to_i) : [200]
            [200, {}, [JSON.generate(found)]]
          end

          # As deep as it goes: here, on a thread, and in a fiber of the request.
          def recursion(_) = [deepest, Thread.new { deepest }.value, Fiber.new { deepest }.resume]
          def marshal(levels) = [Marshal.dump(nested(levels)).bytesize]
          def inspect(levels = nil) = levels ? [nested(levels).inspect.count("[")] : super()
          def json(levels) = [JSON.generate(nested(levels)).count("[")]
          def html5(levels) = [Nokogiri::HTML5("<b>" * levels, max_tree_depth: -1).css("b").size]
          def endless(_) = endless(0)
          def endless_in_c(_) = [nested(500_000).inspect]
          def variables(_) = [ENV.keys.grep(/STACK|ARENA/), `env`.scan(/\\w*(?:STACK|ARENA)\\w*/)]

          private

          def nested(levels) = (1..levels).reduce([]) { |inside, _| [inside] }

          def deepest
            @deepest = 0
            deeper(1)
          rescue SystemStackError
            @deepest
          end

          def deeper(level)
            @deepest = level
            deeper(level + 1)
          end
        end
        run Depth.new
      RACKUP
    end
  end

  # Before threads ask it.
  def setup
    server
  end

  def test_recursion_goes_as_deep_as_on_a_thread
    here, thread, inside = parsed(ask("/recursion"))
    assert_in_delta thread, here, thread / 50
    assert_in_delta thread, inside, thread / 50
  end

  LEVELS.each do |kind, levels|
    define_method("test_#{kind}_of_so_many_levels") do
      assert_operator parsed(ask("/#{kind}?#{levels}")).first, :>=, levels - 1
    end
  end

  def test_requests_that_go_too_deep_fail_alone
    answers = Array.new(AT_ONCE) do |number|
      Thread.new { ask(["/endless", "/endless_in_c", "/recursion"][number % 3]).status }
    end
    assert_equal([500, 500, 200].cycle.first(AT_ONCE), answers.map(&:value), -> { server.stderr })
    assert_equal 200, ask("/").status
  end

  def test_neither_the_application_nor_its_programs_see_the_variables
    assert_equal [[], []], parsed(ask("/variables"))
  end
end
