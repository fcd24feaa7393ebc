# frozen_string_literal: true

# `Capybara.server = :neverblock`: NeverBlock serves the application of a system test in the process
# of the tests. It logs nothing and ends with the process. The railtie requires this file for Rails'
# system tests; elsewhere require it after Capybara.

require "capybara"
require "neverblock/config/environment"
require "neverblock/library"
require "neverblock/server"

module NeverBlock
  module CapybaraServer
    # Capybara's name for it.
    NAME = :neverblock

    module_function

    # Serves until the process ends. Blocks the thread, which Capybara makes for it.
    # @param app [#call]
    # @param port [Integer]
    # @param host [String]
    # @param settings [Hash] of Config.new, such as fibers
    # @return [void]
    def run(app, port, host, **settings)
      bind = Config::Environment.new({}).bind(port: port, host: host)
      server = Server.new(Config.new(binds: [bind], **settings), app).start
      stop_at_exit(server)
      server.wait
    ensure
      server&.stop_now
    end

    # Stops the server before Ruby ends its threads, which would be an error elsewhere. A process
    # that the tests fork has no server of its own.
    def stop_at_exit(server)
      pid = Process.pid
      at_exit { server.stop_now if pid == Process.pid }
    end
    private_class_method :stop_at_exit

    # Makes the name known. Rails chooses Puma where nobody has chosen, also where Puma is missing:
    # then this one is chosen.
    # @return [void]
    def register
      unless ::Capybara.servers[NAME]
        ::Capybara.register_server(NAME) do |app, port, host, **settings|
          run(app, port, host, **settings)
        end
      end
      ::Capybara.server = NAME if ::Capybara.server == ::Capybara.servers[:default] && !puma?
    end

    def puma?
      Gem.loaded_specs.key?("puma")
    end
    private_class_method :puma?
  end
end

NeverBlock::CapybaraServer.register
