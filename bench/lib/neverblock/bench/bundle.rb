# frozen_string_literal: true

require "fileutils"
require "open3"

module NeverBlock
  module Bench
    # The gems of one peer: a committed Gemfile with pinned versions, copied to vendor/bench/NAME and installed there once. Nothing of
    # the project's own bundle is visible in it, and the lock file stays out of the repository.
    class Bundle
      # Variables that carry the caller's own bundle into a child (bundler's documentation of with_unbundled_env).
      FOREIGN = %w[BUNDLE_GEMFILE BUNDLE_PATH BUNDLE_BIN_PATH BUNDLE_LOCKFILE BUNDLER_SETUP BUNDLER_VERSION RUBYOPT RUBYLIB].freeze
      # As bin/setup does: what the system has need not be compiled.
      OPTIONS = { "BUNDLE_JOBS" => "2", "BUNDLE_BUILD__NOKOGIRI" => "--use-system-libraries" }.freeze
      # Compiling the native parts of every peer took half a minute on two cores.
      INSTALL_SECONDS_MAX = 600

      # @param name [String] folder under benchmark/peers
      # @param root [String]
      # @param home [String] where the bundles are installed
      # @param with [String, nil] another folder there, whose Gemfile's lines are added: what an application brings to every peer
      # @param shared [Boolean] one folder of gems for all peers, most of which share Rack; false: its own, where how a gem was built matters
      def initialize(name, root: ROOT, home: self.class.home(root), with: nil, shared: true)
        @shared = shared
        @sources = [name, with].compact.map { |folder| File.join(root, "benchmark/peers", folder, "Gemfile") }
        @home = home
        @directory = File.join(home, [name, with].compact.join("-"))
      end

      # @param root [String]
      # @return [String] vendor/bench of a checkout; the user's cache where the gem's own folder cannot be written to
      def self.home(root)
        return File.join(root, "vendor/bench") if File.writable?(root) && File.directory?(File.join(root, "benchmark"))

        File.join(ENV.fetch("XDG_CACHE_HOME") { File.join(Dir.home, ".cache") }, "neverblock/bench")
      end

      # @return [String] the copied Gemfile
      def gemfile
        File.join(@directory, "Gemfile")
      end

      # @return [Hash{String => String}] what a process needs to run inside this bundle, and nothing else
      def environment
        { "BUNDLE_GEMFILE" => gemfile, "BUNDLE_PATH" => gems, "BUNDLE_APP_CONFIG" => @directory }
      end

      # @return [Boolean] true when every gem of the committed Gemfile is there
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

        raise Error, "bundle install failed (#{output.strip.lines.last.to_s.strip}); mend it, or leave this peer out with --peers"
      end

      # @param gem [String]
      # @return [String, nil] the version in the lock file
      def version(gem)
        File.read("#{gemfile}.lock")[/^    #{Regexp.escape(gem)} \(([^)]+)\)$/, 1]
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
        output, status = Open3.capture2e(clean.merge(environment, OPTIONS), *command, chdir: @directory)
        [output, status.success?]
      end
    end
  end
end
