# frozen_string_literal: true

# `neverblock` started as a mold (Origin::VARIABLE is set): reads command line, environment and configuration file as `neverblock serve` does, anew, so that a
# reload sees new code, new gems and new hooks. Nothing is required here before the gems are set up; see Bundle.

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
        control = Control.new(UNIXSocket.for_fd(descriptor.to_i).tap { |socket| socket.close_on_exec = true })
        mold = Mold.new(control)
        mold.guard do
          raise StartError, problem if problem
          raise StartError, "here is neverblock #{VERSION}, and the server that asks for workers is #{version}: start it again" unless version == VERSION

          mold.run(*settings(argv.dup)) { |rackup| Application.load(rackup) }
        end
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
      private_class_method :settings
    end
  end
end
