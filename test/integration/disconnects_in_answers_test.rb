# frozen_string_literal: true

# A client leaves while its request computes between two lines of another service's answer. With
# cancel_on_disconnect the request is ended there, and gives its connection back to a pool that
# knows nothing of that. The next request is not to read the rest.

require "socket"
require "tmpdir"

require_relative "../support/gate"
require_relative "../support/http_client"
require_relative "../support/server_process_case"

class DisconnectsInAnswersTest < ServerProcessCase
  ROUNDS = 3
  LINES = 50
  FOLDER = Dir.mktmpdir("neverblock-disconnects").tap do |path|
    Minitest.after_run { FileUtils.rm_rf(path) }
  end

  class << self
    # A pool of one connection, which is made anew where the service has closed it.
    def app
      <<~RACKUP
        require "socket"
        pool = Queue.new << nil
        ask = lambda do |port, question, middle|
          connection = pool.pop || TCPSocket.new("127.0.0.1", port)
          connection.write(question)
          line = connection.gets or raise EOFError
          middle.call
          line
        rescue EOFError, Errno::EPIPE, Errno::ECONNRESET
          pool << connection = nil
          retry
        ensure
          pool << connection
        end
        run(lambda do |env|
          port, gate, id = env["QUERY_STRING"].split("-")
          computes = env["PATH_INFO"] == "/computes"
          middle = lambda do
            Thread.new { TCPSocket.new("127.0.0.1", gate).close } if computes
            nil while computes
          end
          [200, {}, [ask.call(port, "\#{id} \#{computes ? #{LINES} : 1}\\n", middle)]]
        end)
      RACKUP
    end

    def server_options
      path = File.join(FOLDER, "cancel.rb")
      File.write(path, "cancel_on_disconnect true\n")
      { options: ["-C", path, *ServerProcess.one_process("one pool for all requests")] }
    end
  end

  def test_the_next_request_does_not_read_the_rest
    with_service do |port|
      Gate.open do |gate|
        ROUNDS.times do |round|
          leave_in_the_middle(gate, "#{port}-#{gate.port}-alice#{round}")
          answer = HTTPClient.get(URI("#{server.url}/asks?#{port}-0-bob#{round}"))
          assert_equal "bob#{round}\n", answer
        end
      end
    end
  end

  private

  def leave_in_the_middle(gate, query)
    connect do |wire|
      wire.get("/computes?#{query}")
      gate.arrival.close
    end
  end

  # Answers with as many lines as it is asked for.
  def with_service
    listener = TCPServer.new("127.0.0.1", 0)
    service = Thread.new do
      loop { Thread.new(listener.accept) { |it| answer(it) } }
    end
    yield listener.local_address.ip_port
  ensure
    service&.kill&.join
    listener&.close
  end

  def answer(connection)
    while (asked = connection.gets)
      id, lines = asked.split
      connection.write("#{id}\n" * Integer(lines))
    end
  rescue SystemCallError
    nil # it was cut
  ensure
    connection.close
  end
end
