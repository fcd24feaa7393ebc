# frozen_string_literal: true

# The I/O loop of a configuration: an engine with its routes and its addresses open, not started, and the thread that makes entries of its lines where the log
# needs that. A server of one process and the front of many open theirs here.

require "neverblock/algorithms"
require "neverblock/downloads/reader"
require "neverblock/server/lane_rules"
require "neverblock/log/core_lines"
require "neverblock/server/folders"
require "neverblock/server/listening"
require "neverblock/version"

module NeverBlock
  class Server
    class IoLoop
      # Threads of one lane in all processes: half of what a lane may have (core/base/limits.h), as a reload has twice as many processes for a while.
      THREADS_MAX = 128

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
      # @param processes [Integer] that run requests
      # @param on_download [#call, nil] takes reports of downloads where the blocks of the configuration are called by others
      # @param settings [Hash] further ones of the engine
      # @raise [StartError] when an address cannot be had; nothing is left open then
      def initialize(config, log, native: NeverBlock, on_download: nil, processes: 1, **settings)
        @core_lines = Log::CoreLines.new(log, RequestLog.shape(config, log)) if config.log_format == :json || config.log_requests
        @engine = native::Engine.new(**config.engine_options, **settings, version: VERSION, ruby_version: RUBY_VERSION, **{ log_fd: @core_lines&.fileno }.compact)
        @log = log
        @native = native
        @lanes = []
        config.routes.each { |route| add_route(route, config.settings.fetch(:queue_max)) }
        add_own_lanes(config, processes)
        Folders.new(@engine).open(config.files)
        @downloads = Downloads::Reader.new(@engine, config, log, workers: on_download).start if Downloads::Reader.wanted?(config)
        @urls = listen(config.binds, config.backlog).freeze
        @admin_url = listen([config.admin], config.backlog, admin: true).first if config.admin
      rescue StandardError
        @downloads&.close
        @engine&.close
        @core_lines&.close
        raise
      end

      # What the application says of its requests' lanes, in the place of what it said before. Any thread.
      # @param rules [Array<LaneRules::Rule>]
      # @return [void]
      def lane_rules=(rules)
        return unless @held_lane

        rules = bounded(rules)
        @engine.lane_rules = rules.map { |rule| [bits(rule.methods), rule.pattern, rule.held ? @held_lane : 0] }
        line = LaneRules.told(rules)
        @log.info(line) if line && line != @lanes_told
        @lanes_told = line
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

      def listen(binds, backlog, **options)
        listening = Listening.new(@engine, backlog, **options)
        listening.open(binds).tap { listening.left_out.each { |line| @log.warn(line) } }
      end

      def add_route(route, queue)
        lane = add_lane(route.at_once, route.queue || queue) if route.lane
        lane = 0 if route.in_fibers
        @engine.route(route.pattern, route.input == :stream, route.cancel_on_disconnect, route.algorithm && Algorithms.number(route.algorithm), route.rate, lane)
      end

      def add_lane(threads, queue)
        @engine.lane(threads, queue).tap { |lane| @lanes.concat([lane] * threads) }
      end

      # For what the application holds, one at a time, and for what is learned.
      def add_own_lanes(config, processes)
        queue = config.settings.fetch(:queue_max)
        @held_lane = add_lane(1, queue) if config.own_lanes
        @engine.learn_lanes(add_lane((THREADS_MAX / processes).clamp(1, Config::Route::AT_ONCE), queue)) if config.learns_lanes?
      end

      def bounded(rules)
        bytes = 0
        rules.first(LaneRules::MAX).take_while { |rule| (bytes += rule.pattern.bytesize) <= LaneRules::TEXT_BYTES_MAX }
      end

      def bits(methods)
        known = @native::Engine::LANE_METHODS
        return known.values.sum if methods.include?("ALL")

        methods.sum { |name| known.fetch(name, 0) }.then { |sum| sum.zero? ? known.fetch("OTHER") : sum }
      end
    end
  end
end
