# frozen_string_literal: true

# `neverblock` started as a mold (Origin::VARIABLE is set). It reads command line, environment and
# configuration file again, as `neverblock serve` does, so that a reload sees new code, new gems and
# new hooks. It requires nothing before the gems are set up; see Bundle.

require "neverblock/cluster/bundle"

module NeverBlock
  module Cluster
    module MoldProcess
      module_function

      # Never returns.
      # @param argv [Array<String>]
      def run(argv)
        descriptor, version = ENV.delete("NEVERBLOCK_MOLD").split(":")
        problem = Bundle.set_up
        require "neverblock/cluster/mold"
        mold = Mold.new(control_of(descriptor.to_i))
        mold.guard do
          raise StartError, problem if problem
          raise StartError, other_version(version) unless version == VERSION

          mold.run(*settings(argv.dup)) { |rackup| Application.load(rackup) }
        end
      end

      def control_of(descriptor)
        socket = UNIXSocket.for_fd(descriptor)
        socket.close_on_exec = true
        Control.new(socket)
      end

      def other_version(version)
        "this is neverblock #{VERSION}, but the running server is #{version}: " \
          "start the server again"
      end

      # @return [Array(Config::Settings, Config::Environment, String)]
      def settings(argv)
        require "neverblock/cli/commands"
        require "neverblock/config/directory"
        argv.shift if argv.first == "serve"
        options = CLI::Options.parse(argv, ENV)
        settings = options.settings
        Config::Directory.enter(settings[:directory])
        [settings, Config::Environment.new(ENV), Application.locate(options.rackup)]
      end
      private_class_method :control_of, :other_version, :settings
    end
  end
end
