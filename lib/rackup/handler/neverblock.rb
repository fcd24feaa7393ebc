# frozen_string_literal: true

# `rackup -s neverblock` and `rails server -u neverblock` with Rack 3. Whoever loads this file wants this server: it is Rackup::Handler.default from then on,
# unless RACKUP_HANDLER or RACK_HANDLER says otherwise.

require "rackup/handler"
require "neverblock/rack/handler"

module Rackup
  module Handler
    module NeverBlock
      extend ::NeverBlock::RackHandler::Face

      # Before rackup's own choice.
      module Default
        def default
          ENV.key?("RACKUP_HANDLER") || ENV.key?("RACK_HANDLER") ? super : NeverBlock
        end
      end
    end

    register :neverblock, NeverBlock
    singleton_class.prepend(NeverBlock::Default)
  end
end
