# frozen_string_literal: true

# `rails server` prints a URL before the server listens. It is made of Rails' own defaults, and a
# configuration file may name other addresses. The line "Listening on URL" tells what is bound.

module NeverBlock
  class RackHandler
    module RailsServer
      # @return [String, nil] nil: no URL is printed
      def served_url
        super unless server.respond_to?(:name) && server.name.end_with?("Handler::NeverBlock")
      end
    end
  end
end

Rails::Server.prepend(NeverBlock::RackHandler::RailsServer)
