# frozen_string_literal: true

# The gems of an application and their versions: those of its lock file, which can be read without loading anything, and those that are loaded.

module NeverBlock
  module Check
    class Bundle
      # Where Bundler looks, from the application's folder upwards.
      FILES = { "Gemfile" => "Gemfile.lock", "gems.rb" => "gems.locked" }.freeze

      # @return [String, nil] the lock file that was read
      attr_reader :lock
      # @return [String, nil] why it could not be
      attr_reader :problem

      # @param directory [String] the application's
      # @param env [Hash, ENV]
      def initialize(directory, env = ENV)
        @gemfile = gemfile(directory, env)
        @lock = lock_of(@gemfile)
        @locked = read_lock
      end

      # @return [Boolean] whether there is a Gemfile, and gems are taken without asking it
      def ignored?
        !@gemfile.nil? && $LOADED_FEATURES.none? { |feature| feature.end_with?("/bundler/setup.rb") }
      end

      # @return [Hash{String => Gem::Version}] loaded versions before locked ones
      def versions
        @locked.merge(Gem.loaded_specs.transform_values(&:version))
      end

      # @param name [String]
      # @return [Gem::Version, nil]
      def version(name)
        Gem.loaded_specs[name]&.version || @locked[name]
      end

      # @param name [String]
      # @return [Boolean] whether any of its files has been loaded (a bundle puts gems on the load path that an application never requires)
      def loaded?(name)
        spec = Gem.loaded_specs[name] or return false
        paths = spec.full_require_paths.map { |path| "#{path}/" }
        $LOADED_FEATURES.any? { |feature| paths.any? { |path| feature.start_with?(path) } }
      end

      # @return [String, nil] of the bundle
      def gemfile_name
        @gemfile && File.basename(@gemfile)
      end

      private

      def gemfile(directory, env)
        named = env["BUNDLE_GEMFILE"].to_s
        return File.expand_path(named) unless named.empty?

        folder = File.expand_path(directory)
        loop do
          found = FILES.keys.map { |name| File.join(folder, name) }.find { |path| File.file?(path) }
          return found if found

          above = File.dirname(folder)
          return nil if above == folder

          folder = above
        end
      end

      def lock_of(gemfile)
        return nil unless gemfile

        path = File.basename(gemfile) == "gems.rb" ? File.join(File.dirname(gemfile), FILES["gems.rb"]) : "#{gemfile}.lock"
        path if File.file?(path)
      end

      def read_lock
        return {} unless @lock

        require "bundler"
        ::Bundler::LockfileParser.new(File.read(@lock)).specs.to_h { |spec| [spec.name, spec.version] }
      rescue StandardError, LoadError => e # a file of somebody's hand; Bundler's own errors are StandardErrors
        @problem = e.message.to_s.lines.first.to_s.strip
        {}
      end
    end
  end
end
