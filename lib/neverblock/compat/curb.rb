# frozen_string_literal: true

# From 1.4 on curb runs a transfer in a fiber of its own where there is a scheduler (curl.rb,
# perform_with_scheduler). Callbacks run there too, and do not see what the request keeps in
# Thread.current[], thread variables or CurrentAttributes. Here a transfer runs in the calling
# fiber, and waits through the scheduler all the same (curb_multi.c, rb_curl_multi_perform).

module NeverBlock
  module Compat
    module Curb
      # Installs it once, when curb is loaded.
      # @return [void]
      def self.apply
        return unless defined?(::Curl) && ::Curl.respond_to?(:scheduler_active?)

        ::Curl.singleton_class.prepend(InPlace) unless ::Curl.singleton_class.include?(InPlace)
      end

      # Prepended to Curl's own methods.
      module InPlace
        # @return [Boolean] whether a transfer runs in a fiber of its own
        def scheduler_active? = super && Compat.scheduler.nil?
      end
    end
  end
end
