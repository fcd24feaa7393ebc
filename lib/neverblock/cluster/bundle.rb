# frozen_string_literal: true

# Sets up the gems of a mold (the process that forks workers). It is loaded before anything else and
# requires nothing itself: a standard library that is also a gem, such as json, must not be loaded
# before Bundler has chosen its version.

module NeverBlock
  module Cluster
    module Bundle
      module_function

      # Does what Ruby does at its start otherwise; see Origin::SET_ASIDE.
      # @return [String, nil] a problem with the Gemfile
      def set_up
        options = take_back("RUBYOPT")
        setup = take_back("BUNDLER_SETUP") || options.to_s[%r{-r\s*(\S*bundler/setup)}, 1] or return

        require setup.delete_suffix("/setup")
        Bundler.ui.silence { Bundler.setup }
        nil
      rescue SystemExit, StandardError, LoadError => e
        "the gems of #{ENV.fetch("BUNDLE_GEMFILE", "the Gemfile")}: #{one_line(e.message)}"
      end

      # Without terminal colours and line breaks.
      def one_line(message)
        message.strip.gsub(/\e\[[\d;]*m/, "").gsub(/\s*\n\s*/, " ")
      end

      def take_back(name)
        value = ENV.delete("NEVERBLOCK_#{name}")
        ENV[name] = value if value
        value
      end
      private_class_method :one_line, :take_back
    end
  end
end
