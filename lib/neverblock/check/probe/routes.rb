# frozen_string_literal: true

# What can be asked for without knowing the application: the GET routes of a Rails application that need no parameter, else its root.

module NeverBlock
  module Check
    class Probe
      module Routes
        MOST = 32
        ROOT = ["/"].freeze

        module_function

        # @return [Array<String>]
        def paths
          return ROOT unless defined?(::Rails.application.routes) && ::Rails.application

          found = ::Rails.application.routes.routes.filter_map { |route| path(route) }.uniq.first(MOST)
          found.empty? ? ROOT : found
        end

        def path(route)
          return unless route.verb.to_s.include?("GET") && route.required_parts.empty? && !route.internal

          path = route.path.spec.to_s.gsub(/\([^()]*\)/, "")
          path unless path.include?("*") || path.include?("(") || path.start_with?("/rails/")
        end
        private_class_method :path
      end
    end
  end
end
