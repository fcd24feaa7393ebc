# frozen_string_literal: true

class EchoChannel < ApplicationCable::Channel
  def subscribed
    stream_from "echo"
  end

  def say(data)
    ActionCable.server.broadcast("echo", { text: data["text"], pid: Process.pid })
  end
end
