# frozen_string_literal: true

# `rackup -s neverblock` and `rails server -u neverblock` with Rack 3. Once this file is loaded it
# is Rackup::Handler.default where the bundle has neither Puma nor Falcon. With
# neverblock/rack/default it comes before them. RACKUP_HANDLER and RACK_HANDLER go first.

require "rackup/handler"
require "neverblock/boot/stacks"
# `rails server` asks for its handler before it loads the application; rackup has loaded it by then.
if defined?(Rails::Server) && defined?(Rails.application) && !Rails.application&.initialized?
  NeverBlock::Boot::Stacks.enter do |variables|
    Process.exec(variables, RbConfig.ruby, $PROGRAM_NAME, "server", *ARGV)
  end
end
require "neverblock/rack/handler"
require "neverblock/rack/rails_server" if defined?(Rails::Server)

module Rackup
  module Handler
    module NeverBlock
      extend ::NeverBlock::RackHandler::Face

      # Before rackup's own choice, whose last is WEBrick. Many bundles have WEBrick because
      # something else needs it.
      module Default
        OTHERS = %i[puma falcon].freeze

        def default
          return super if ENV.key?("RACKUP_HANDLER") || ENV.key?("RACK_HANDLER")

          ::NeverBlock::RackHandler.first_choice ? NeverBlock : pick(OTHERS)
        rescue LoadError
          NeverBlock
        end
      end
    end

    register :neverblock, NeverBlock
    singleton_class.prepend(NeverBlock::Default)
  end
end
