# frozen_string_literal: true

# A gRPC service without protobuf: its messages are Ruby strings. Run as a program it is the server.
# It writes its port as its first line, and ends on TERM.

require "grpc"

module GrpcService
  # grpc calls `enc` and `dec` of a message's class.
  class Words
    attr_reader :text

    def initialize(text)
      @text = text
    end

    def self.enc(words)
      words.text
    end

    def self.dec(bytes)
      new(bytes)
    end
  end

  class Service
    include GRPC::GenericService

    self.marshal_class_method = :enc
    self.unmarshal_class_method = :dec
    self.service_name = "neverblock.test.Words"
    rpc :Say, Words, Words
    rpc :Many, Words, stream(Words)
    rpc :Join, stream(Words), Words
    rpc :Each, stream(Words), stream(Words)
  end

  Stub = Service.rpc_stub_class

  # Answers take a moment, so that calls are in the middle of one another.
  class Server < Service
    def say(words, call)
      sleep 0.02
      Words.new("said #{words.text}#{call.metadata["x-me"]}")
    end

    def many(words, _call)
      Array.new(3) { |n| Words.new("#{words.text} #{n}") }.each
    end

    def join(call)
      parts = []
      call.each_remote_read { |words| parts << words.text }
      Words.new(parts.join("+"))
    end

    def each(words, _call)
      words.lazy.map { |one| Words.new("<#{one.text}>") }
    end
  end

  def self.serve
    server = GRPC::RpcServer.new(pool_size: 60)
    port = server.add_http2_port("127.0.0.1:0", :this_port_is_insecure)
    server.handle(Server)
    $stdout.sync = true
    puts port
    server.run_till_terminated_or_interrupted(%w[TERM INT])
  end
end

GrpcService.serve if $PROGRAM_NAME == __FILE__
