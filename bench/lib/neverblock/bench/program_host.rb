# frozen_string_literal: true

module NeverBlock
  module Bench
    # Takes the place of ServerProcess when a program is measured: gives each run a fresh server, if
    # the claim has one.
    class ProgramHost
      # One run of a program: the program, the process of its server (or nil), and whether it had
      # YJIT.
      Run = Struct.new(:program, :server, :yjit, keyword_init: true) do
        def command
          program.command
        end
      end

      # @param server [Server, nil] the server that the programs ask
      # @param starter [#run]
      def initialize(server = nil, starter: ServerProcess)
        @server = server
        @starter = starter
      end

      # @param program [Program]
      # @param app [String] rackup file of the server
      # @param path [String] requested until the server answers
      # @yield [Run]
      # @return [Object] the block's value
      # @raise [Error] when the server cannot run
      def run(program, app:, path:)
        return yield(Run.new(program: program)) unless @server

        prepare_server
        @starter.run(@server, app: app, path: path) do |process|
          Cores.give_server(process.pid)
          yield Run.new(program: program, server: process)
        end
      end

      private

      def prepare_server
        @prepared ||= @server.prepare || true
      end
    end
  end
end
