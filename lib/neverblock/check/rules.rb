# frozen_string_literal: true

# The families of rules. Each is a module with .call(subject), which returns findings: those BEFORE the application is loaded, which need nothing of it, and those
# AFTER. A family that fails says so, and takes nothing with it.

require "neverblock/check/finding"
require "neverblock/check/rules/addresses"
require "neverblock/check/rules/build"
require "neverblock/check/rules/database"
require "neverblock/check/rules/gems"
require "neverblock/check/rules/layers"
require "neverblock/check/rules/rails"
require "neverblock/check/rules/ruby"
require "neverblock/check/rules/settings"
require "neverblock/check/rules/system"

module NeverBlock
  module Check
    module Rules
      BEFORE = [Ruby, System, Addresses, Build, Settings].freeze
      AFTER = [Gems, Rails, Database, Layers].freeze

      module_function

      # @param families [Array<Module>]
      # @param subject [Subject]
      # @return [Array<Finding>]
      def of(families, subject)
        families.flat_map { |family| guarded(family) { family.call(subject) } }
      end

      def guarded(family)
        yield
      rescue StandardError => e # an application may have made anything of anything
        name = family.name.split("::").last.downcase
        [Finding.of(:note, "check", "the rules about #{name} have failed: #{e.message.to_s.lines.first.to_s.strip} (#{e.class}) at #{e.backtrace&.first}",
                    "tell the developers of NeverBlock; what else is said here holds")]
      end
      private_class_method :guarded
    end
  end
end
