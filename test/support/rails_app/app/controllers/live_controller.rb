# frozen_string_literal: true

class LiveController < ApplicationController
  include ActionController::Live

  # Three parts; the second when the gate opens.
  def parts
    response.headers["Content-Type"] = "text/plain"
    response.stream.write("one #{Current.user}\n")
    wait_at
    response.stream.write("two\n")
    response.stream.write("three\n")
  ensure
    response.stream.close
  end

  # Writes for ever; tells the test how it ended.
  def endless
    response.headers["Content-Type"] = "application/octet-stream"
    loop { response.stream.write("x" * 65_536) }
  rescue ActionController::Live::ClientDisconnected
    TCPSocket.open("127.0.0.1", params[:port].to_i) { |gate| gate.write("gone") }
  ensure
    response.stream.close
  end

  # As much as the client takes, and a figure of how much that was.
  def counted
    written = 0
    gate = TCPSocket.new("127.0.0.1", params[:port].to_i)
    1024.times do
      response.stream.write("x" * 65_536)
      written += 65_536
      gate.puts(written)
    end
  ensure
    gate&.close
    response.stream.close
  end
end
