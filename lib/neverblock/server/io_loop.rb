# frozen_string_literal: true

# The I/O loop of a configuration: an engine with its routes and its addresses open, not started, and the thread that makes entries of its lines where the log
# needs that. A server of one process and the front of many open theirs here.

require "neverblock/algorithms"
require "neverblock/downloads/reader"
require "neverblock/log/core_lines"
require "neverblock/server/folders"
require "neverblock/server/listening"
require "neverblock/version"

module NeverBlock
  class Server
    class IoLoop
      # @return [Engine]
      attr_reader :engine
      # @return [Array<Integer>] for each thread of a lane that a process has, the lane's number
      attr_reader :lanes
      # @return [Array<String>] where it listens, with real ports
      attr_reader :urls
      # @return [String, nil] where the admin pages are, with the real port
      attr_reader :admin_url

      # @param config [Config]
      # @param log [Log]
      # @param native [Module] where Engine is
      # @param on_download [#call, nil] takes reports of downloads where the blocks of the configuration are called by others
      # @param settings [Hash] further ones of the engine
      # @raise [StartError] when an address cannot be had; nothing is left open then
      def initialize(config, log, native: NeverBlock, on_download: nil, **settings)
        @core_lines = Log::CoreLines.new(log, RequestLog.shape(config, log)) if config.log_format == :json || config.log_requests
        @engine = native::Engine.new(**config.engine_options, **settings, version: VERSION, ruby_version: RUBY_VERSION, **{ log_fd: @core_lines&.fileno }.compact)
        @lanes = []
        config.routes.each { |route| add_route(route, config.settings.fetch(:queue_max)) }
        Folders.new(@engine).open(config.files)
        @downloads = Downloads::Reader.new(@engine, config, log, workers: on_download).start if Downloads::Reader.wanted?(config)
        @urls = Listening.new(@engine, config.backlog).open(config.binds).freeze
        @admin_url = Listening.new(@engine, config.backlog, admin: true).open([config.admin]).first if config.admin
      rescue StandardError
        @downloads&.close
        @engine&.close
        @core_lines&.close
        raise
      end

      # Once no executor uses it any more: waits for its end and frees it.
      # @return [void]
      def close
        @engine.join
        @downloads&.close
        @engine.close
        @core_lines&.close
      end

      private

      def add_route(route, queue)
        lane = @engine.lane(route.at_once, route.queue || queue) if route.lane
        @lanes.concat([lane] * route.at_once) if lane
        @engine.route(route.pattern, route.input == :stream, route.cancel_on_disconnect, route.algorithm && Algorithms.number(route.algorithm), route.rate, lane)
      end
    end
  end
end
