# frozen_string_literal: true

# `rackup -s neverblock` and `rails server -u neverblock` with Rack 2. Once this file is loaded it
# is Rack::Handler.default where the bundle has neither Puma nor Thin nor Falcon. With
# neverblock/rack/default it comes before them. RACK_HANDLER and CGI in the environment go first.

require "rack/handler"
require "neverblock/rack/handler"
require "neverblock/rack/rails_server" if defined?(Rails::Server)

module Rack
  module Handler
    module NeverBlock
      extend ::NeverBlock::RackHandler::Face

      # Before Rack's own choice, whose last is WEBrick.
      module Default
        VARIABLES = %w[RACK_HANDLER PHP_FCGI_CHILDREN REQUEST_METHOD].freeze
        OTHERS = %w[puma thin falcon].freeze

        def default
          return super if VARIABLES.any? { |name| ENV.key?(name) }

          ::NeverBlock::RackHandler.first_choice ? NeverBlock : pick(OTHERS)
        rescue LoadError
          NeverBlock
        end
      end
    end

    register "neverblock", "Rack::Handler::NeverBlock"
    singleton_class.prepend(NeverBlock::Default)
  end
end
