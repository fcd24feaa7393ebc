# frozen_string_literal: true

# The classes of rules. Each is a module with .call(subject), which returns findings. BEFORE are
# those that need no application; AFTER are those that need it. When one raises, that is a finding,
# and the others still run.

require "neverblock/check/finding"
require "neverblock/check/rules/acme"
require "neverblock/check/rules/addresses"
require "neverblock/check/rules/build"
require "neverblock/check/rules/certificates"
require "neverblock/check/rules/database"
require "neverblock/check/rules/gems"
require "neverblock/check/rules/layers"
require "neverblock/check/rules/rails"
require "neverblock/check/rules/ruby"
require "neverblock/check/rules/settings"
require "neverblock/check/rules/system"
require "neverblock/config/source_error"

module NeverBlock
  module Check
    module Rules
      BEFORE = [Ruby, System, Addresses, Build, Certificates, Acme, Settings].freeze
      AFTER = [Gems, Rails, Database, Layers].freeze

      module_function

      # @param families [Array<Module>] classes of rules
      # @param subject [Subject]
      # @return [Array<Finding>]
      def of(families, subject)
        families.flat_map { |family| guarded(family) { family.call(subject) } }
      end

      def guarded(family)
        yield
      rescue StandardError => e # an application may have patched anything
        name = family.name.split("::").last.downcase
        [Finding.of(:note, "check",
                    "the rules about #{name} have failed: #{SourceError.summary(e)} (#{e.class}) " \
                    "at #{e.backtrace&.first}",
                    "report it to the developers of NeverBlock; the other findings are valid")]
      end
      private_class_method :guarded
    end
  end
end
