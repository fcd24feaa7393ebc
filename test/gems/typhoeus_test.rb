# frozen_string_literal: true

require "test_helper"
require "gems/support/asked"
require "open3"

# Tests that Typhoeus' pool hands out no handle that is still in use. It could give one to another
# thread, and so to another fiber (lib/neverblock/compat/typhoeus.rb).
class GemsTyphoeusTest < Minitest::Test
  # Two requests, the second while the first has given its handle back and has not returned.
  PROGRAM = <<~RUBY
    require "socket"
    require "typhoeus"
    SERVICE = TCPServer.new("127.0.0.1", 0)
    ANSWER = "HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\nConnection: close\\r\\n\\r\\nok"
    Thread.new do
      loop do
        Thread.new(SERVICE.accept) do |client|
          client.readpartial(4096) && client.write(ANSWER) && client.close
        end
      end
    end
    GIVEN, GO, FIRST = Queue.new, Queue.new, [true]

    # Where a slice may end, or a thread's turn.
    module Held
      def release(...) = super.tap { FIRST.pop && GIVEN.push(true) && GO.pop }
    end
    Typhoeus::Pool.singleton_class.prepend(Held)

    def ask = Typhoeus.get("http://127.0.0.1:\#{SERVICE.addr[1]}/").body

    def ask_beside
      GIVEN.pop
      ask
    rescue Ethon::Errors::EthonError => e
      e.message
    ensure
      GO.push(true)
    end

    if ARGV == ["threads"]
      p [Thread.new { ask }, Thread.new { ask_beside }].map(&:value)
    else
      require "neverblock"
      p(NB.run { NB.all(-> { ask }, -> { ask_beside }) })
    end
  RUBY

  def test_a_handle_that_has_not_ended_is_given_to_no_other_fiber
    assert_equal %w[ok ok].inspect, said("fibers")
  end

  # When this fails, Typhoeus has mended it: compat/typhoeus.rb is for older ones then.
  def test_on_threads_it_is
    assert_match(/\A\["ok", "Easy is currently /, said("threads"))
  end

  private

  def said(how)
    env = Gems::Surroundings::BUNDLE.env.merge("LD_PRELOAD" => nil)
    out, status = Open3.capture2e(env, RbConfig.ruby, "-rbundler/setup", "-I",
                                  File.join(GemBundle::ROOT, "lib"), "-e", PROGRAM, how)
    assert_predicate status, :success?, out
    out.lines.last.chomp
  end
end
