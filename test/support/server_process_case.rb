# frozen_string_literal: true

# A test class with one server for all its tests, and the few verbs such tests are made of.

require "json"
require "minitest/autorun"
require "securerandom"

require_relative "app_events"
require_relative "server_process"

class ServerProcessCase < Minitest::Test
  class << self
    # The rackup file; a class may define its own.
    def app
      <<~RACKUP
        require "#{File.expand_path("app_rack", __dir__)}"
        run RackApp.new
      RACKUP
    end

    # Further arguments of ServerProcess.new.
    def server_options
      {}
    end

    # Started by the first test that needs it, and again when it has died. A server that does not
    # start is not tried twice.
    def server
      raise @start_error if @start_error

      @server = nil if @server && !@server.running?
      @server ||= start_server
    end

    def start_server
      @events_path ||= File.join(Dir.mktmpdir("neverblock-events"), "events")
      options = server_options
      env = { "NB_TEST_EVENTS" => @events_path, **options.fetch(:env, {}) }
      ServerProcess.new(app, **options, env: env).start
    rescue ServerProcess::Failed => e
      raise @start_error = e
    end

    def events
      server
      AppEvents::Reader.new(@events_path)
    end

    # Minitest runs a class through this: its server ends with it, and how it ends is a test of its
    # own.
    def run(reporter, options = {})
      super
    ensure
      run_one_method(self, "the_server_ends_cleanly", reporter) if @server
      FileUtils.rm_rf(File.dirname(@events_path)) if @events_path
    end

    def stop
      @server.stop
    ensure
      @server = nil
    end
  end

  def the_server_ends_cleanly
    assert self.class.stop
  end

  def server
    self.class.server
  end

  def events
    self.class.events
  end

  # A name for the events of one request.
  def new_tag
    SecureRandom.hex(6)
  end

  def connect(**options, &block)
    server.connect(**options, &block)
  end

  # One request on a connection of its own.
  # @return [Wire::Response]
  def ask(target, *fields, method: "GET", body: "", version: "1.1", tolerate_cut: false)
    connect do |client|
      client.write(request(target, *fields, method: method, body: body, version: version))
      if tolerate_cut
        client.response_as_far_as_it_comes(method: method, version: version)
      else
        client.response(method: method, version: version)
      end
    end
  end

  def request(target, *fields, method: "GET", body: "", version: "1.1")
    framed = fields.grep(/\A(content-length|transfer-encoding):/i).any?
    fields += ["Content-Length: #{body.bytesize}"] unless body.empty? || framed
    head = ["#{method} #{target} HTTP/#{version}", "Host: test", *fields]
    "#{head.join("\r\n")}\r\n\r\n".b + body.b
  end

  def parsed(response)
    assert_equal 200, response.status, response.body
    JSON.parse(response.body)
  end

  # How often a text stands in the server's standard error, once it does.
  def logged(text)
    server.await_stderr(/#{Regexp.escape(text)}/)
    # Whatever else that request had to log is written once this one is answered.
    connect { |client| client.get("/") && client.response }
    server.stderr.scan(text).size
  end

  def neverblock?
    ServerProcess.server_name == "neverblock"
  end
end
