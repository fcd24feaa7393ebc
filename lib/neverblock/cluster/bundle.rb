# frozen_string_literal: true

# The gems of a mold. It is loaded before anything else and requires nothing itself: a standard library that comes as a gem (json, say) must not be there before
# Bundler has chosen its version.

module NeverBlock
  module Cluster
    module Bundle
      module_function

      # Does what Ruby would have done at its start; see Origin::SET_ASIDE.
      # @return [String, nil] what is wrong with the Gemfile
      def set_up
        options = take_back("RUBYOPT")
        setup = take_back("BUNDLER_SETUP") || options.to_s[%r{-r\s*(\S*bundler/setup)}, 1] or return

        require setup.delete_suffix("/setup")
        Bundler.ui.silence { Bundler.setup }
        nil
      rescue SystemExit, StandardError, LoadError => e
        "the gems of #{ENV.fetch("BUNDLE_GEMFILE", "the Gemfile")}: #{e.message.strip.gsub(/\e\[[\d;]*m/, "").gsub(/\s*\n\s*/, " ")}"
      end

      def take_back(name)
        value = ENV.delete("NEVERBLOCK_#{name}")
        ENV[name] = value if value
        value
      end
      private_class_method :take_back
    end
  end
end
