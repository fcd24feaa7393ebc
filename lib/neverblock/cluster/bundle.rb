# frozen_string_literal: true

# The gems of a mold. It is loaded before anything else and requires nothing itself: a standard library that comes as a gem (json, say) must not be there before
# Bundler has chosen its version.

module NeverBlock
  module Cluster
    module Bundle
      module_function

      # Does what RUBYOPT would have done.
      # @param options [String, nil] RUBYOPT as it was; nil: Bundler is not in it
      # @return [String, nil] what is wrong with the Gemfile
      def set_up(options)
        return unless options

        ENV["RUBYOPT"] = options
        setup = options[%r{-r\s*(\S*bundler)/setup}, 1]
        require setup
        Bundler.ui.silence { Bundler.setup }
        nil
      rescue SystemExit, StandardError, LoadError => e
        "the gems of #{ENV.fetch("BUNDLE_GEMFILE", "the Gemfile")}: #{e.message.strip.gsub(/\e\[[\d;]*m/, "").gsub(/\s*\n\s*/, " ")}"
      end
    end
  end
end
