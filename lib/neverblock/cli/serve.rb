# frozen_string_literal: true

# `neverblock serve`: checks what the system allows, loads the application, and runs a server with it as this process.

require "neverblock/application"
require "neverblock/boot/heap"
require "neverblock/boot/limits"
require "neverblock/boot/notices"
require "neverblock/cli/not_yet"
require "neverblock/config/environment"

module NeverBlock
  module CLI
    class Serve
      # @param options [Options]
      # @param env [Hash, ENV]
      # @param out [IO]
      def initialize(options, env: ENV, out: $stdout)
        @options = options
        @environment = Config::Environment.new(env)
        @out = out
      end

      # @return [Integer] exit status, when the server has ended
      # @raise [Error] when it cannot start
      def run
        NotYet.check_config_file
        config = @options.config
        name = @environment.apply_name(@options.environment)
        limits = Boot::Limits.new(config)
        limits.check_fibers
        lines = limits.raise_descriptors + [Boot::Notices.enable_yjit(@options.yjit)] + @environment.warnings
        rackup = Application.locate(@options.rackup)
        require "neverblock"
        app = Application.load(rackup)
        Boot::Heap.warm
        notices = [Boot::Notices.banner(config, name), Boot::Notices.weaker_ruby, *lines].compact
        Server::Runner.new(Server.new(config, app), out: @out, notices: notices).run
      end
    end
  end
end
