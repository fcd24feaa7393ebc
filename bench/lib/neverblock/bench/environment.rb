# frozen_string_literal: true

module NeverBlock
  module Bench
    # The environment variables of a benchmark's processes.
    module Environment
      # The only variables they inherit.
      KEPT = %w[PATH HOME LANG LC_ALL TMPDIR GEM_HOME GEM_PATH].freeze
      # Name under which Bundler saves a variable that it changes (Bundler::EnvironmentPreserver),
      # and the value for one that was not set.
      ORIGINAL = "BUNDLER_ORIG_%s"
      NOTHING = "BUNDLER_ENVIRONMENT_PRESERVER_INTENTIONALLY_NIL"

      class << self
        # @param name [String] of a variable
        # @return [String, nil] its value outside of the caller's bundle. With the GEM_PATH of a
        #   bundle, Debian's Ruby 3.1 would find an older Bundler that does not work there.
        def outer(name)
          value = ENV.fetch(format(ORIGINAL, name)) { ENV.fetch(name, nil) }
          value unless value == NOTHING
        end

        # @return [Hash{String => String, nil}]
        def kept
          KEPT.to_h { |name| [name, outer(name)] }
        end

        # @return [Hash{String => String}] for a server: production mode, without the caller's
        #   bundle
        def clean
          kept.compact.merge("RACK_ENV" => "production")
        end

        # @param given [Hash{String => String}, #call] variables, or what returns them now
        # @return [Hash{String => String}]
        def told(given)
          given.respond_to?(:call) ? given.call : given
        end
      end
    end
  end
end
