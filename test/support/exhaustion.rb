# frozen_string_literal: true

# All descriptors of a server in use: connections of several processes and addresses, downloads that
# stand still, request bodies in files. What it then does for those it has, for those who come, and
# for the one who asks how it is; and how it is when they have left. The sizes are the caller's.

require "json"
require "minitest/autorun"
require "net/http"

require_relative "crowd"
require_relative "served_folder"
require_relative "server_process"

module Exhaustion
  APP = <<~RACKUP
    run(lambda do |env|
      case env["PATH_INFO"]
      when "/upload" then [200, {}, [env["rack.input"].read.bytesize.to_s]]
      when "/opens" then [200, {}, [File.open(__FILE__) { |file| file.read(10) }.bytesize.to_s]]
      else [200, {}, ["hello"]]
      end
    end)
  RACKUP
  CONFIGURATION = <<~CONFIGURATION
    limits { connections 1_000_000 }
    timeouts { header 600; body 600; idle 600; accept 0.2 }
  CONFIGURATION
  FILES = {
    "large.bin" => "x" * 20_000_000, "small.txt" => "small"
  }.merge((1..20).to_h { |n| ["#{n}.txt", "file #{n}"] })

  # @param descriptors [Integer] of the process that listens
  # @param options [Array<String>] further words of the command
  def exhaust(descriptors, options: [])
    folder = ServedFolder.new(FILES)
    File.write(configuration = folder.beside("neverblock.rb"), CONFIGURATION)
    admin = "unix://#{folder.beside("admin.sock")}"
    command = ["-C", configuration, "--public", folder.path, "--admin", admin, *options]
    limited = ["sh", "-c", "ulimit -n #{descriptors}; exec \"$@\"", "sh"]
    ServerProcess.run(APP, options: command, wrap: limited) do |server|
      exhausted = Exhausted.new(server, descriptors)
      begin
        yield exhausted
      ensure
        exhausted.leave
      end
    end
  ensure
    folder&.remove
  end

  # A server on its way there and back.
  class Exhausted
    attr_reader :server

    def initialize(server, descriptors)
      @server = server
      @port = URI(server.url).port
      @descriptors = descriptors
      @crowds = []
    end

    # @param kind [String] of clients
    # @param share [Numeric] how many in each process, as a share of all descriptors
    # @param processes [Integer]
    # @return [void] when every one of them is connected or has been told that he cannot be
    def crowd_in(kind, share, processes: 1)
      each = (@descriptors * share).to_i
      before = connections["open"] + sum("refused")
      processes.times do
        @crowds << Crowd::Process.new("127.0.0.#{@crowds.size + 2}", @port, each, kind)
      end
      Patience.await("each is taken or refused", -> { [tallies, connections] }) do
        connections["open"] + sum("refused") == before + (processes * each)
      end
    end

    def tallies
      @crowds.map(&:tally)
    end

    def sum(fate)
      tallies.sum { |tally| tally.fetch(fate, 0) }
    end

    def go_on
      @crowds.each(&:go_on)
    end

    def leave
      @crowds.each(&:close).clear
    end

    def connections
      status.fetch("connections")
    end

    def status
      JSON.parse(admin("/status.json")[1])
    end

    # @return [(Integer, String)] status and body
    def admin(path)
      Wire::Client.open(@server.admin_url) do |client|
        client.get(path) && client.response.then { |response| [response.status, response.body] }
      end
    end

    # @return [Wire::Response] of a new connection
    def ask(path, **rest)
      Wire::Client.open(@server.url) { |client| client.get(path, **rest) && client.response }
    end

    # Waits until a newcomer is served.
    def await_service
      Patience.await("a newcomer to be served") { served? }
    end

    # @return [Hash{String => Integer}] what the process that listens has open, by its kind
    def descriptors
      folder = "/proc/#{@server.pid}/fd"
      Dir.children(folder).map { |number| kind_of("#{folder}/#{number}") }.tally
    end

    def descriptors_open
      descriptors.values.sum
    end

    private

    def served?
      ask("/hello").then { |response| response.status == 200 && response.body == "hello" }
    rescue Wire::Error, SystemCallError
      false
    end

    def kind_of(link)
      File.readlink(link).sub(/\d+/, "")
    rescue SystemCallError
      "closed"
    end
  end
end
