# frozen_string_literal: true

# What clients saw, to the last request. It counts the answers by status. It names the requests that
# failed, had wrong bytes, or lost their connection.
# The threads of the client program share it. The test gets it as JSON.

class Account
  # failed: a 502, or a response that was cut.
  # lost: the connection ended where an answer was due, or between two requests.
  # announced: the server closed the connection and had said so.
  # wrong: bytes or a status that nobody may send.
  # broken: no HTTP, or nothing at all in time.
  FATES = %i[failed lost announced wrong broken].freeze

  def initialize
    @mutex = Mutex.new
    @data = { "connections" => 0, "requests" => 0, "statuses" => Hash.new(0), "versions" => [],
              "workers" => Hash.new(0), **FATES.to_h { |fate| [fate.to_s, []] } }
  end

  def connected
    @mutex.synchronize { @data["connections"] += 1 }
  end

  # @param response [Wire::Response]
  def answered(response)
    @mutex.synchronize do
      @data["requests"] += 1
      @data["statuses"][response.status.to_s] += 1
      @data["versions"] |= [response["x-version"]].compact
      @data["workers"][response["x-worker"]] += 1 if response["x-worker"]
    end
  end

  # @param fate [Symbol] one of FATES
  def note(fate, id, kind, text)
    @mutex.synchronize { @data[fate.to_s] << [id, kind, text] }
  end

  def to_h
    @mutex.synchronize { @data.dup }
  end
end
