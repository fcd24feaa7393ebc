# frozen_string_literal: true

# `neverblock advise` of a running server, as an operator asks: real waits for another service, one
# after another, in a loop, and one that needs the one before it.

require "json"
require "open3"
require "rbconfig"
require_relative "../support/admin_case"
require_relative "../support/http_client"
require_relative "../support/patience"

class AdviceCase < AdminCase
  EXE = File.expand_path("../../exe/neverblock", __dir__)

  class << self
    def app
      <<~RACKUP
        require "net/http"
        require "socket"
        SERVICE = TCPServer.new("127.0.0.1", 0)
        Thread.new do
          loop do
            Thread.new(SERVICE.accept) do |client|
              seconds = client.gets[/\\d+/].to_f / 1000
              nil until client.gets.strip.empty?
              sleep(seconds)
              client.write("HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\nConnection: close\\r\\n\\r\\nok")
              client.close
            end
          end
        end
        module Service
          def self.get(path)
            Net::HTTP.get(URI("http://127.0.0.1:\#{SERVICE.addr[1]}\#{path}"))
          end
        end
        class Shop
          def page
            user = Service.get("/20/user")
            rates = Service.get("/40/rates")
            [user, rates]
          end

          def order
            user = Service.get("/20/user")
            Service.get("/40/orders?of=\#{user}")
          end

          def list
            (1..6).map { |number| Service.get("/10/\#{number}") }
          end
        end
        run ->(env) {
          [200, {}, [Shop.new.public_send(env["PATH_INFO"].split("/")[1]).inspect]]
        }
      RACKUP
    end
  end

  private

  def ask(path)
    HTTPClient.get(URI("#{server.url}#{path}"))
  end

  # @return [Hash] what the command says
  def advise(*words)
    output, error, status = Open3.capture3(RbConfig.ruby, EXE, "advise", "-C", "-", "--admin",
                                           server.admin_url, *words)
    assert_predicate(status, :success?, error)
    output
  end

  def document
    JSON.parse(advise("--json"))
  end
end

module AdviceCases
  def test_waits_that_need_not_have_come_one_after_another_are_told
    2.times { ask("/page") }
    found = document["advice"].find { |one| one["kind"] == "sequential" }

    assert_match(/2 waits in Shop#page/, found["title"])
    assert_equal(["user = Service.get(\"/20/user\")", "rates = Service.get(\"/40/rates\")"],
                 found["lines"].map { |line| line["code"] })
    assert_match(/\Auser, rates = NB.all\(-> \{ Service/, found["code"])
    assert_in_delta(found["lines"].map { |line| line["for_s"] }.min, found["saves_s"], 0.001)
  end

  def test_waits_of_which_one_needs_the_other_are_not_told
    ask("/order")
    titles = document["advice"].map { |one| one["title"] }

    assert_empty(titles.grep(/Shop#order/))
  end

  def test_waits_in_a_loop_are_told
    ask("/list")
    found = document["advice"].find { |one| one["kind"] == "repeated" }

    assert_match(/\A6 waits for HTTP 127.0.0.1:\d+ at one line/, found["title"])
    assert_includes(found["lines"].first["code"], "(1..6).map")
    assert_includes(found["requests"], "GET /list")
  end

  def test_the_server_has_it_made_for_the_page
    ask("/page")
    json = Patience.await("advice is made") do
      made = JSON.parse(HTTPClient.get(URI("#{server.admin_url}/advice.json")))
      made if made["made_at"]
    end

    assert_operator(json["observed"], :>, 0)
    assert_empty(json["unread"])
  end

  def test_people_are_told_the_lines
    ask("/page")
    text = advise("--kind", "sequential", "--least", "1")

    assert_match(/config\.ru:\d+  user = Service\.get\("\/20\/user"\)/, text)
    assert_match(/NB\.all would save about/, text)
  end
end

class AdviceTest < AdviceCase
  include AdviceCases
end

class AdviceOfWorkersTest < AdviceCase
  include AdviceCases

  def self.options
    ["-w", "2"]
  end
end
