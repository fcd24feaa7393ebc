# frozen_string_literal: true

# GoodJob's `:async` runs jobs in the process of a web server, and nowhere else. It takes a process
# for one where Rails::Server is defined, or where whoever asks first was called from config.ru or
# from a file of Puma, and keeps the answer (good_job 4: lib/good_job/configuration.rb,
# in_webserver?; before that lib/good_job/adapter.rb, in_server_process?). Without eager loading the
# first request asks, in a fiber that nothing has called: no job would ever be run. Here a process
# with a server of ours is one. While an application is loaded, and in all other processes, GoodJob
# answers itself.
#
# What GoodJob has not begun by then, as it was told otherwise, begins at once.

require "neverblock/server/serving"

module NeverBlock
  module Compat
    module GoodJob
      # Installs it, when the gem is loaded. Jobs begin once this process serves.
      # @return [void]
      def self.apply
        return unless defined?(::GoodJob::Configuration) && defined?(::GoodJob::Adapter)

        prepend_to(::GoodJob::Configuration, Configuration)
        prepend_to(::GoodJob::Adapter, Adapter)
        start if NeverBlock.serving
      end

      # Each version has one of the two methods.
      def self.prepend_to(owner, answers)
        return if owner.include?(answers)

        name = answers.instance_methods.first
        return unless owner.method_defined?(name) || owner.private_method_defined?(name)

        owner.prepend(answers)
      end

      # As GoodJob does when Rails has been initialized, for the adapters that there are.
      def self.start
        return unless ::GoodJob.respond_to?(:async_ready?) # it asks the application
        return unless defined?(::Rails.application) && ::Rails.application && ::GoodJob.async_ready?

        ::GoodJob::Adapter.instances.each do |adapter|
          adapter.start_async if adapter.execute_async? && !adapter.async_started?
        end
      end
      private_class_method :prepend_to, :start

      # Prepended to GoodJob::Configuration.
      module Configuration
        def in_webserver?
          super || !NeverBlock.serving.nil?
        end
      end

      # Prepended to GoodJob::Adapter.
      module Adapter
        def in_server_process?
          super || !NeverBlock.serving.nil?
        end
      end
    end
  end
end
