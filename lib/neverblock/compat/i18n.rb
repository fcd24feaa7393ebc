# frozen_string_literal: true

# i18n 1.13 and later keep the locale in a thread variable, which all fibers of a thread share: what one request sets, all others that run have. Since 1.15 it is
# in the fiber's storage, on Ruby 3.2 and later. Where it is the thread's, a fiber of our loop gets its own (i18n, lib/i18n.rb, I18n::Base#config).

module NeverBlock
  module Compat
    module I18n
      KEY = :neverblock_i18n_config

      # Puts it in place once, when i18n is loaded.
      def self.apply
        return if @applied || !defined?(::I18n::Config)

        @applied = true
        ::I18n.singleton_class.prepend(OfFiber) if of_thread?
      end

      # Is it in a thread variable? A thread of its own tells.
      def self.of_thread?
        Thread.new do
          ::I18n.config
          Thread.current.thread_variable?(:i18n_config)
        end.value
      end

      # Prepended to I18n.singleton_class.
      module OfFiber
        def config
          return super unless Fiber.scheduler.is_a?(Scheduler)

          Thread.current[KEY] ||= ::I18n::Config.new
        end

        def config=(value)
          Fiber.scheduler.is_a?(Scheduler) ? Thread.current[KEY] = value : super
        end

        # I18n's own puts the copy of a frozen one where it is not looked for.
        def writable_config
          config.frozen? ? self.config = config.dup : config
        end
      end
    end
  end
end
