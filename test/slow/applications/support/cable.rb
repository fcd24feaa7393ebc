# frozen_string_literal: true

require "json"
require "socket"
require "timeout"
require "websocket/driver"

# A visitor's WebSocket to /cable: subscribes, speaks and writes down what comes but pings.
class Cable
  PROTOCOL = "actioncable-v1-json"

  # What comes next of the socket's other end.
  Closed = Class.new(StandardError)

  attr_reader :messages

  # @param url [String] of the server
  # @param cookies [String]
  # @param origin [String]
  def initialize(url, cookies, origin: url)
    @uri = URI(url)
    @messages = []
    @socket = TCPSocket.new(@uri.host, @uri.port)
    @driver = WebSocket::Driver.client(self, protocols: [PROTOCOL])
    @driver.set_header("Origin", origin)
    @driver.set_header("Cookie", cookies) unless cookies.empty?
    @driver.on(:message) { |event| take(JSON.parse(event.data)) }
    @driver.on(:close) { |event| @messages << { "closed" => event.code } }
    @driver.start
  end

  # What the driver needs of its owner.
  def url = "ws://#{@uri.host}:#{@uri.port}/cable"
  def write(bytes) = @socket.write(bytes)

  # @return [Integer, nil] of the answer to the handshake
  def status = @driver.status

  # Whether the server has refused it or closed it.
  def refused?
    (status && status != 101) || messages.last&.key?("closed")
  end

  # @return [String] the parameters, as the identifier of what follows
  def subscribe(channel, **params)
    identifier = JSON.generate(channel: channel, **params)
    @driver.text(JSON.generate(command: "subscribe", identifier: identifier))
    await("an answer to #{identifier}") do
      messages.any? { |one| one["identifier"] == identifier && one["type"] }
    end
    identifier
  end

  def perform(identifier, action, **data)
    @driver.text(JSON.generate(command: "message", identifier: identifier,
                               data: JSON.generate(action: action, **data)))
  end

  # Reads until the block is true.
  def await(what)
    Timeout.timeout(Patience::SECONDS) do
      @driver.parse(@socket.readpartial(65_536)) until yield
    end
  rescue Timeout::Error, EOFError, Errno::ECONNRESET => e
    raise Closed, "#{e.class} before #{what}; so far #{messages}"
  end

  def close
    @driver.close
    await("the other side closes") { messages.last&.key?("closed") }
  rescue Closed
    nil
  ensure
    @socket.close
  end

  private

  def take(message)
    @messages << message unless message["type"] == "ping"
  end
end
