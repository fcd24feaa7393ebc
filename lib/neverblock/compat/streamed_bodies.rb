# frozen_string_literal: true

# Rails 7.1 and 7.2 with Rack 3 cannot stream a body that is no Array (self.response_body =
# Enumerator.new { ... }, render stream: true). Their responses respond to to_ary, but it returns no
# Array of strings. So Rack::ETag reads the whole body first, and fails for a streamed view. A
# streamed view is also encoded in chunks already, which is the server's task.
#
# Here a response has to_ary where its body has, as in Rails 8.0, and a view yields its text.
# lib/action_dispatch/http/response.rb, Buffer#to_ary; lib/action_controller/metal/streaming.rb,
# Body#each.

module NeverBlock
  module Compat
    module StreamedBodies
      # Installs it once, when a Rails that needs it is loaded.
      # @return [void]
      def self.apply
        return unless defined?(::ActionDispatch::Response::Buffer)
        return unless ::ActionPack::VERSION::MAJOR == 7

        buffer = ::ActionDispatch::Response::Buffer
        buffer.prepend(ToAry) unless buffer.include?(ToAry)
        # ActionDispatch may be loaded alone: haml, kaminari and other gems require it.
        return unless defined?(::ActionController::Streaming::Body)

        body = ::ActionController::Streaming::Body
        body.prepend(Plain) unless body.include?(Plain)
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
