# frozen_string_literal: true

module NeverBlock
  module Bench
    # Stands where ServerProcess stands when a program is measured: gives each run a fresh server to ask where the claim has one.
    class ProgramHost
      # One run of a program: the program, the process of the server it asks (or nil), and what the program said of itself.
      Run = Struct.new(:program, :server, :yjit, keyword_init: true) do
        def command
          program.command
        end
      end

      # @param server [Server, nil] what the programs ask
      # @param starter [#run]
      def initialize(server = nil, starter: ServerProcess)
        @server = server
        @starter = starter
      end

      # @param program [Program]
      # @param app [String] rackup file of the server
      # @param path [String] what it is asked until it answers
      # @yield [Run]
      # @return [Object] what the block gave
      # @raise [Error] when the server cannot be had
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
