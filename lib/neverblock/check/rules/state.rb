# frozen_string_literal: true

# Libraries that keep the state of a request with its thread unless they are told otherwise. Asked of the loaded library, not of its version.

require "neverblock/check/finding"

module NeverBlock
  module Check
    module Rules
      module State
        module_function

        # @return [Array<Finding>]
        def call(_subject)
          [sentry, mongoid].compact
        end

        def sentry
          return unless defined?(::Sentry::Configuration)

          knows = ::Sentry::Configuration.method_defined?(:hub_isolation_level)
          level = ::Sentry.configuration.hub_isolation_level if knows && ::Sentry.respond_to?(:configuration) && ::Sentry.configuration
          return if level == :fiber

          Finding.of(:serious, "sentry",
                     "Sentry keeps what it knows of a request (user, tags) by thread, which all requests share: events name the wrong user (getsentry/sentry-ruby#3018)",
                     knows ? "config.hub_isolation_level = :fiber in Sentry.init" : "a sentry-ruby that has config.hub_isolation_level, and set it to :fiber")
        end

        def mongoid
          return unless defined?(::Mongoid::Threaded)
          return if ::Mongoid::Config.respond_to?(:isolation_level)
          return unless source_of(::Mongoid::Threaded).include?("thread_variable")

          Finding.of(:serious, "mongoid", "this Mongoid keeps scopes, sessions and transactions in thread variables, which all requests of a process share (mongodb/mongoid#6004)",
                     "a Mongoid that has Mongoid::Config.isolation_level")
        end

        def source_of(owner)
          file, = Object.const_source_location(owner.name)
          file && File.file?(file) ? File.read(file) : ""
        end
        private_class_method :sentry, :mongoid, :source_of
      end
    end
  end
end
