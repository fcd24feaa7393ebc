# frozen_string_literal: true

require_relative "http_client"
require_relative "patience"

# A server in this process whose application holds requests until the test releases them. An
# application calls @held.push with what tells of its thread, then @release.pop.
module HeldRequests
  def setup
    @log_reader, @log_writer = IO.pipe
    @held = Thread::Queue.new
    @release = Thread::Queue.new
    @clients = []
  end

  def teardown
    @release.close
    @server&.stop_now
    @clients.each { |client| client.join(Patience::SECONDS) }
    [@log_reader, @log_writer].each(&:close)
  end

  private

  def serve(app, **settings)
    config = NeverBlock::Config.new(
      binds: [Over.bind("http://127.0.0.1:0")], log_fd: @log_writer.fileno, **settings
    )
    @server = NeverBlock::Server.new(config, app).start
  end

  def url
    @server.urls.first
  end

  def ask(path)
    Timeout.timeout(Patience::SECONDS) { HTTPClient.get(URI("#{url}#{path}")) }
  end

  def client(path)
    @clients << Thread.new do
      HTTPClient.get(URI("#{url}#{path}"))
    rescue StandardError
      nil # the server ends first where a test fails
    end
    @clients.last
  end

  # @return [String] what the request has pushed that has come next to where it is held
  def arrival
    Timeout.timeout(Patience::SECONDS) { @held.pop }
  end
end
