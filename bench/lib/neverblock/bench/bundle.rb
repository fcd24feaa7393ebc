# frozen_string_literal: true

require "fileutils"
require "open3"

module NeverBlock
  module Bench
    # The gems of one peer: a Gemfile of the repository with pinned versions, copied to
    # vendor/bench/NAME and installed there once. It is independent of the project's own bundle, and
    # its lock file stays out of the repository.
    class Bundle
      # Variables that carry the caller's bundle into a child (Bundler's with_unbundled_env).
      FOREIGN = %w[
        BUNDLE_GEMFILE BUNDLE_PATH BUNDLE_BIN_PATH BUNDLE_LOCKFILE BUNDLER_SETUP BUNDLER_VERSION
        RUBYOPT RUBYLIB
      ].freeze
      # As in bin/setup: uses the system's libraries instead of compiling them.
      OPTIONS = { "BUNDLE_JOBS" => "2",
                  "BUNDLE_BUILD__NOKOGIRI" => "--use-system-libraries" }.freeze
      # Time to compile the native parts of the gems.
      INSTALL_SECONDS_MAX = 600

      # @param name [String] folder under benchmark/peers
      # @param root [String]
      # @param home [String] folder of the installed bundles
      # @param with [String, nil] another folder there, whose Gemfile is added: the gems of an
      #   application
      # @param shared [Boolean] whether all peers share one folder of gems; false: a folder of its
      #   own, for gems that are built differently
      def initialize(name, root: ROOT, home: self.class.home(root), with: nil, shared: true)
        @shared = shared
        folders = [name, with].compact
        @sources = folders.map { |folder| File.join(root, "benchmark/peers", folder, "Gemfile") }
        @home = home
        @directory = File.join(home, folders.join("-"))
      end

      # @param root [String]
      # @return [String] vendor/bench of a checkout; the user's cache for an installed gem
      def self.home(root)
        checkout = File.writable?(root) && File.directory?(File.join(root, "benchmark"))
        return File.join(root, "vendor/bench") if checkout

        cache = ENV.fetch("XDG_CACHE_HOME") { File.join(Dir.home, ".cache") }
        File.join(cache, "neverblock/bench")
      end

      # @return [String] the copied Gemfile
      def gemfile
        File.join(@directory, "Gemfile")
      end

      # @return [Hash{String => String}] variables for a process inside this bundle
      def environment
        { "BUNDLE_GEMFILE" => gemfile, "BUNDLE_PATH" => gems, "BUNDLE_APP_CONFIG" => @directory }
      end

      # @return [Boolean] whether every gem of the Gemfile is installed
      def installed?
        File.exist?(gemfile) && File.read(gemfile) == wanted && bundle("check").last
      end

      # Installs what is missing.
      # @yield [String] once, before a slow installation begins
      # @raise [Error] when it fails
      def install
        return if installed?

        yield "installing its gems into #{@directory} (once)" if block_given?
        FileUtils.mkdir_p(@directory)
        FileUtils.rm_f("#{gemfile}.lock")
        File.write(gemfile, wanted)
        output, done = bundle("install")
        return if done

        reason = output.strip.lines.last.to_s.strip
        raise Error, "bundle install failed (#{reason}); " \
                     "fix it, or leave this peer out with --peers"
      end

      # @param gem [String]
      # @return [String, nil] the version in the lock file
      def version(gem)
        File.read("#{gemfile}.lock")[/^    #{Regexp.escape(gem)} \(([^)-]+)(?:-[^)]+)?\)$/, 1]
      rescue Errno::ENOENT
        nil
      end

      private

      def wanted
        @sources.map { |source| File.read(source) }.join
      end

      def gems
        File.join(@shared ? @home : @directory, "gems")
      end

      def bundle(*arguments)
        clean = FOREIGN.to_h { |name| [name, nil] }.merge(Environment.kept)
        command = ["timeout", INSTALL_SECONDS_MAX.to_s, "bundle", *arguments]
        output, status = Open3.capture2e(clean.merge(environment, OPTIONS), *command,
                                         chdir: @directory)
        [output, status.success?]
      end
    end
  end
end
