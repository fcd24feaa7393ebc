# frozen_string_literal: true

require "socket"

class ApplicationController < ActionController::Base
  before_action { Current.user = params[:user] }

  private

  # Waits at a gate of the test.
  def wait_at(port = params[:port])
    TCPSocket.open("127.0.0.1", port.to_i) { |gate| gate.read }
  end
end
