# frozen_string_literal: true

# Rails 7.1 and 7.2 with Rack 3 cannot stream a body that is no array (self.response_body = Enumerator.new { ... }, render stream: true): their responses say that
# they have to_ary and give something else, so that Rack::ETag reads all of it first, and fails with a streamed view. And a streamed view comes in chunks already,
# which is the server's business. Here a response has to_ary where its body has, as in Rails 8.0, and a view gives its text.
# lib/action_dispatch/http/response.rb, Buffer#to_ary; lib/action_controller/metal/streaming.rb, Body#each.

module NeverBlock
  module Compat
    module StreamedBodies
      # Puts it in place once, when a Rails that needs it is loaded.
      # @return [void]
      def self.apply
        return unless defined?(::ActionDispatch::Response::Buffer) && ::ActionPack::VERSION::MAJOR == 7

        ::ActionDispatch::Response::Buffer.prepend(ToAry) unless ::ActionDispatch::Response::Buffer.include?(ToAry)
        # An application may have ActionDispatch alone: what haml, kaminari and the like bring with them.
        return unless defined?(::ActionController::Streaming::Body)

        ::ActionController::Streaming::Body.prepend(Plain) unless ::ActionController::Streaming::Body.include?(Plain)
      end

      # Prepended to ActionDispatch::Response::Buffer.
      module ToAry
        def respond_to?(name, include_all = false)
          name.to_sym == :to_ary && !@str_body ? super && @buf.respond_to?(:to_ary) : super
        end

        def to_ary
          @str_body ? [body] : super
        end
      end

      # Prepended to ActionController::Streaming::Body.
      module Plain
        def each(&block)
          @body.each(&block)
        end
      end
    end
  end
end
