# frozen_string_literal: true

# `neverblock serve`: runs the rackup file of the command line in this process.

require "neverblock/boot/again"
require "neverblock/boot/application"
require "neverblock/boot/exit_limit"
require "neverblock/boot/init"
require "neverblock/boot/last_exit"
require "neverblock/boot/launch"
require "neverblock/cluster/origin"
require "neverblock/config/directory"
require "neverblock/config/environment"
require "neverblock/server/inheritance"
require "shellwords"

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
        @inheritance = Server::Inheritance.take(env)
        # Made first: it records the state of the process before anything changes it.
        @origin = Cluster::Origin.new(rackup: options.rackup)
        # The rackup file or a link may have given it another name.
        ENV["PWD"] = @origin.directory
      end

      # @return [Integer] exit status, when the server has ended
      # @raise [Error] when it cannot start
      def run
        serve
      rescue StandardError, ScriptError => e
        @inheritance.failed(e.message)
        raise
      end

      private

      def serve
        settings = @options.settings
        settings.binds
        @origin.follow(settings[:directory])
        Config::Directory.enter(settings[:directory])
        refuse_files_alone
        rackup = Application.locate(@options.rackup)
        workers = Boot::Processors.workers(settings[:workers])
        @contained = ::Process.pid == Boot::Init::FIRST
        Boot::Init.new.become if Boot::Init.needed?(workers)
        Boot::ExitLimit.prepare
        Boot::LastExit.prepare
        launch(settings).run { load_application(rackup) }
      end

      # `abort` with a message has told why already.
      def load_application(rackup)
        Application.load(rackup)
      rescue SystemExit => e
        warn "neverblock: #{Application.exit_told(e)}" if e.message == "exit"
        raise
      end

      # --public is for files beside an application.
      def refuse_files_alone
        folder = @options.values[:public_dir]&.first
        return if folder.nil? || @options.rackup || File.exist?(Application::DEFAULT_FILE)

        raise ApplicationError, "there is no #{Application::DEFAULT_FILE} in #{Dir.pwd}; to " \
                                "share a folder's files alone: " \
                                "neverblock files #{Shellwords.escape(folder)}"
      end

      def launch(settings)
        again = Boot::Again.new(@origin, contained: @contained)
        Boot::Launch.new(settings, @environment, out: @out, origin: @origin, again: again,
                                                 inheritance: @inheritance)
      end
    end
  end
end
