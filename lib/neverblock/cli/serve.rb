# frozen_string_literal: true

# `neverblock serve`: runs the rackup file of the command line in this process.

require "neverblock/boot/application"
require "neverblock/boot/exit_limit"
require "neverblock/boot/init"
require "neverblock/boot/launch"
require "neverblock/cluster/origin"
require "neverblock/config/directory"
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
        # Made first: it records the state of the process before anything changes it.
        @origin = Cluster::Origin.new(rackup: options.rackup)
      end

      # @return [Integer] exit status, when the server has ended
      # @raise [Error] when it cannot start
      def run
        settings = @options.settings
        settings.binds
        @origin.follow(settings[:directory])
        Config::Directory.enter(settings[:directory])
        rackup = Application.locate(@options.rackup)
        workers = Boot::Processors.workers(settings[:workers])
        Boot::Init.new.become if Boot::Init.needed?(workers)
        Boot::ExitLimit.prepare
        launch(settings).run { Application.load(rackup) }
      end

      private

      def launch(settings)
        Boot::Launch.new(settings, @environment, out: @out, origin: @origin,
                                                 again: @origin.method(:start_again))
      end
    end
  end
end
