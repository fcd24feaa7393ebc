# frozen_string_literal: true

# Tests calls of the gem grpc in requests that are in the middle of one another, beside requests
# that compute. The service runs in a process of its own: client and server in one program hang on
# plain threads, too (docs/decisions/0011).

require_relative "../support/gem_bundle"
require_relative "../support/server_process_case"

class GrpcTest < ServerProcessCase
  AT_ONCE = 20
  ROUNDS = 3
  HOGS = 2
  BUNDLE = GemBundle.new(File.expand_path("grpc.gemfile", __dir__), "bundle-grpc")
  ENVIRONMENT = BUNDLE.env.merge("RUBYOPT" => "-rbundler/setup")
  SUPPORT = File.expand_path("support", __dir__)

  KINDS = {
    "unary" => ->(me) { "said #{me}" },
    "intercepted" => ->(me) { "said #{me}(marked #{me})" },
    "server_stream" => ->(me) { Array.new(3) { |n| "#{me} #{n}" } },
    "client_stream" => ->(me) { Array.new(3) { |n| "#{me}.#{n}" }.join("+") },
    "both_streams" => ->(me) { Array.new(3) { |n| "<#{me}.#{n}>" } },
    "late" => ->(me) { "late #{me}" }
  }.freeze

  class << self
    def app
      <<~RACKUP
        require "#{SUPPORT}/app_grpc.rb"
        run AppGrpc.new(#{port})
      RACKUP
    end

    def server_options
      { env: ENVIRONMENT, options: ["-C", configuration] }
    end

    def run(...)
      super
    ensure
      end_service
    end

    private

    def port
      @service ||= IO.popen([ENVIRONMENT, RbConfig.ruby, "#{SUPPORT}/grpc_service.rb"])
      @port ||= Integer(@service.gets)
    end

    def end_service
      return unless @service

      Process.kill(:TERM, @service.pid)
      @service.close
    end

    def configuration
      @configuration ||= Tempfile.new(["neverblock", ".rb"]).tap do |file|
        file.write("executor { slice_ms 2 }\n")
        file.close
      end
      @configuration.path
    end
  end

  KINDS.each do |kind, expected|
    define_method("test_each_call_has_its_own_answer_#{kind}") do
      server
      hogs = Array.new(HOGS) { Thread.new { parsed(ask("/hog?me=0")) } }
      ROUNDS.times { assert_equal Array.new(AT_ONCE, &expected), answers(kind) }
      hogs.each(&:value)
    end
  end

  private

  def answers(kind)
    Array.new(AT_ONCE) { |me| Thread.new { parsed(ask("/#{kind}?me=#{me}")) } }.map(&:value)
  end
end
