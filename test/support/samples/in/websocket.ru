# GET /websocket => 101

# frozen_string_literal: true

require "websocket/driver"

Peer = Struct.new(:env, :socket) do
  def url = "ws://#{env["HTTP_HOST"]}#{env["PATH_INFO"]}"
  def write(data) = socket.write(data)
end
# SAMPLE
