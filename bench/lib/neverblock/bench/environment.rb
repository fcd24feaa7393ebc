# frozen_string_literal: true

module NeverBlock
  module Bench
    # What the processes of a benchmark see of the caller's environment.
    module Environment
      # All that they see.
      KEPT = %w[PATH HOME LANG LC_ALL TMPDIR GEM_HOME GEM_PATH].freeze
      # How Bundler keeps what it changes for a program in a bundle (Bundler::EnvironmentPreserver), and that there was nothing.
      ORIGINAL = "BUNDLER_ORIG_%s"
      NOTHING = "BUNDLER_ENVIRONMENT_PRESERVER_INTENTIONALLY_NIL"

      class << self
        # @param name [String] of a variable
        # @return [String, nil] its value outside of the bundle that the caller may be in: with GEM_PATH as that sets it, Ruby 3.1 of Debian finds an older Bundler,
        #   which does not work there
        def outer(name)
          value = ENV.fetch(format(ORIGINAL, name)) { ENV.fetch(name, nil) }
          value unless value == NOTHING
        end

        # @return [Hash{String => String, nil}]
        def kept
          KEPT.to_h { |name| [name, outer(name)] }
        end

        # @return [Hash{String => String}] for a server: nothing of the caller's own bundle, production mode
        def clean
          kept.compact.merge("RACK_ENV" => "production")
        end

        # @param given [Hash{String => String}, #call] what can be called is asked now
        # @return [Hash{String => String}]
        def told(given)
          given.respond_to?(:call) ? given.call : given
        end
      end
    end
  end
end
