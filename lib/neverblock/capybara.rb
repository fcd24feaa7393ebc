# frozen_string_literal: true

# `Capybara.server = :neverblock`: the application of a system test, served by NeverBlock in the process of the tests. It is quiet and ends with them.
# Required by the railtie for Rails' system tests; elsewhere after Capybara.

require "capybara"
require "neverblock/config/environment"
require "neverblock/library"

module NeverBlock
  module CapybaraServer
    # How it is asked for.
    NAME = :neverblock

    module_function

    # Serves until the process ends. Capybara gives it a thread.
    # @param app [#call]
    # @param port [Integer]
    # @param host [String]
    # @param settings [Hash] of Config.new: fibers, ...
    # @return [void]
    def run(app, port, host, **settings)
      bind = Config::Environment.new({}).bind(port: port, host: host)
      server = Server.new(Config.new(binds: [bind], **settings), app).start
      stop_at_exit(server)
      server.wait
    ensure
      server&.stop_now
    end

    # Before Ruby ends its threads, which is an error elsewhere; a process forked by the tests has no server of its own.
    def stop_at_exit(server)
      pid = Process.pid
      at_exit { server.stop_now if pid == Process.pid }
    end
    private_class_method :stop_at_exit

    # Rails takes Puma where nobody has chosen, also where there is none.
    # @return [void]
    def register
      ::Capybara.register_server(NAME) { |app, port, host, **settings| run(app, port, host, **settings) } unless ::Capybara.servers[NAME]
      ::Capybara.server = NAME if ::Capybara.server == ::Capybara.servers[:default] && !puma?
    end

    def puma?
      Gem.loaded_specs.key?("puma")
    end
    private_class_method :puma?
  end
end

NeverBlock::CapybaraServer.register
