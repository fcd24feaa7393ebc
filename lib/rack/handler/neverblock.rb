# frozen_string_literal: true

# `rackup -s neverblock` and `rails server -u neverblock` with Rack 2. Whoever loads this file wants this server: it is Rack::Handler.default from then on, unless
# the environment (RACK_HANDLER, CGI) says otherwise.

require "rack/handler"
require "neverblock/rack/handler"

module Rack
  module Handler
    module NeverBlock
      extend ::NeverBlock::RackHandler::Face

      # Before Rack's own choice.
      module Default
        OTHERS = %w[RACK_HANDLER PHP_FCGI_CHILDREN REQUEST_METHOD].freeze

        def default
          OTHERS.any? { |name| ENV.key?(name) } ? super : NeverBlock
        end
      end
    end

    register "neverblock", "Rack::Handler::NeverBlock"
    singleton_class.prepend(NeverBlock::Default)
  end
end
