# frozen_string_literal: true

# What is observed of requests, as an operator finds it at /observed.json: a real database, another
# service, deep code. With workers it is the same.

require "json"
require "pg"
require_relative "../support/admin_case"
require_relative "../support/http_client"
require_relative "../support/patience"
require_relative "../support/services"

class ObservedCase < AdminCase
  class << self
    def app
      <<~RACKUP
        require "net/http"
        require "pg"
        class Orders
          def initialize(database) = @database = database

          def total
            connection = PG.connect(**@database)
            3.times { |number| rows(connection, number) }
          ensure
            connection&.close
          end

          def rows(connection, number)
            connection.exec_params("SELECT $1::int, pg_sleep(0.1)", [number])
          end
        end
        DATABASE = { host: "127.0.0.1", port: #{Services.postgresql.port}, user: "postgres",
                     dbname: "postgres" }.freeze
        def deep(left) = left.zero? ? sleep(0.002) : deep(left - 1)
        run ->(env) {
          case env["PATH_INFO"].split("/")[1]
          when "orders" then Orders.new(DATABASE).total
          when "deep" then deep(2000)
          when "sleeps" then sleep(0.002)
          end
          [200, {}, ["done"]]
        }
      RACKUP
    end
  end

  private

  def document(query = "?limit=128")
    JSON.parse(HTTPClient.get(URI("#{server.admin_url}/observed.json#{query}")))
  end

  def observed(path)
    Patience.await("#{path} is observed") do
      document.fetch("requests").find { |request| request["path"] == path }
    end
  end

  # A class of its own, as letters do not count as equal.
  def letters
    Array.new(12) { ("a".."z").to_a.sample }.join
  end

  def line_of(text)
    self.class.app.lines.index { |line| line.include?(text) } + 1
  end

  # The frames of the wait.
  def stack(request, wait)
    wait.fetch("stack").map { |number| request.fetch("frames").fetch(number) }
  end

  # Connecting waits, too.
  def asks?(request, wait)
    wait["kind"] == "database" && stack(request, wait).any? { |frame| frame[2] == "Orders#rows" }
  end

  module Cases
    def test_each_query_has_the_line_that_asks_it
      path = "/orders/#{letters}"
      ask("#{path}?card=4242")
      request = observed(path)
      waits = request["waits"].select { |wait| asks?(request, wait) }
      assert_equal 3, waits.size
      waits.each { |wait| assert_query(request, wait) }
      assert_equal [200, "GET"], request.values_at("status", "method")
      refute_includes JSON.generate(request), "4242"
    end

    def test_a_deep_stack_is_cut_off
      path = "/deep/#{letters}"
      ask(path)
      request = observed(path)
      wait = request["waits"].find { |one| one["kind"] == "sleep" }
      own = stack(request, wait).reject(&:last)
      assert_equal 48, own.size
      assert_equal [line_of("def deep")], own.map { |frame| frame[1] }.uniq
    end

    def test_the_parts_fit_together
      path = "/sleeps/#{letters}"
      ask(path)
      request = observed(path)
      wait = request["waits"].find { |one| one["kind"] == "sleep" }
      times = wait.values_at("start_s", "for_s", "turn_s").compact
      assert_operator times.sum, :<=, request["run_s"]
      assert_in_delta wait["for_s"], request.dig("wait_s", "sleep"), 0.000_001
      assert_equal({ "sleep" => 1 }, request["waits_of"].except("turn"))
      assert_equal [1, 0], request.values_at("observed", "waits_left_out")
    end
  end

  def assert_query(request, wait)
    assert_equal "pg 127.0.0.1:#{Services.postgresql.port}", wait["what"]
    frames = stack(request, wait)
    own = frames.reject(&:last)
    assert_equal ["Orders#rows", line_of("exec_params")], [own[0][2], own[0][1]]
    assert_equal ["Orders#total", line_of("3.times")], [own[1][2], own[1][1]]
    assert(own.all? { |path, *| path.end_with?("config.ru") })
    refute(frames.any? { |path, *| path.include?("/lib/neverblock/") })
  end
end

class ObservedTest < ObservedCase
  include ObservedCase::Cases

  def test_a_limit_leaves_the_rest_out_and_keeps_each_class
    paths = Array.new(3) { "/sleeps/#{letters}" }
    paths.each { |path| 2.times { ask(path) } }
    paths.each { |path| observed(path) }
    all = document.fetch("requests").size
    few = document("?limit=2")
    assert_equal 2, few.fetch("requests").map { |request| request["class"] }.uniq.size
    assert_operator few.fetch("left_out"), :>=, all - 2
  end
end

class ObservedOfWorkersTest < ObservedCase
  include ObservedCase::Cases

  def self.options
    ["-w", "2"]
  end

  def test_each_request_says_which_worker_ran_it
    path = "/sleeps/#{letters}"
    ask(path)
    request = observed(path)
    assert_includes [0, 1], request["worker"]
    assert_operator request["pid"], :>, 0
  end
end
