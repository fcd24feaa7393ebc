# frozen_string_literal: true

# A Rack application that calls the service of grpc_service.rb, once for each request.

require "json"
require "rack"

require_relative "grpc_service"

class AppGrpc
  # Adds a field to each unary call, and notes the answer: code of the caller's around the call.
  class Marked < GRPC::ClientInterceptor
    def request_response(request: nil, metadata: nil, **)
      metadata["x-me"] = "(marked #{request.text})"
      yield
    end
  end

  def initialize(port)
    address = "127.0.0.1:#{port}"
    @stub = GrpcService::Stub.new(address, :this_channel_is_insecure)
    @marked = GrpcService::Stub.new(address, :this_channel_is_insecure, interceptors: [Marked.new])
  end

  def call(env)
    me = Rack::Request.new(env).params.fetch("me")
    body = JSON.generate(public_send(env["PATH_INFO"].delete_prefix("/"), me))
    [200, { "content-type" => "application/json" }, [body]]
  end

  def unary(me)
    @stub.say(words(me)).text
  end

  def intercepted(me)
    @marked.say(words(me)).text
  end

  def server_stream(me)
    @stub.many(words(me)).map(&:text)
  end

  def client_stream(me)
    @stub.join(Array.new(3) { |n| words("#{me}.#{n}") }).text
  end

  def both_streams(me)
    @stub.each(Array.new(3) { |n| words("#{me}.#{n}") }).map(&:text)
  end

  # The service sleeps for longer than the call may take.
  def late(me)
    @stub.say(words(me), deadline: Time.now + 0.001).text
  rescue GRPC::DeadlineExceeded
    "late #{me}"
  end

  def hog(_me)
    200_000.times.sum { |n| n % 7 }
  end

  private

  def words(text)
    GrpcService::Words.new(text)
  end
end
