# frozen_string_literal: true

# The gems of an application and their versions: those of its lock file, which is read without
# loading anything, and those that are loaded.

require "neverblock/config/source_error"

module NeverBlock
  module Check
    class Bundle
      # Files that Bundler looks for, in the application's folder and then upwards, and their lock
      # files.
      FILES = { "Gemfile" => "Gemfile.lock", "gems.rb" => "gems.locked" }.freeze

      # @return [String, nil] the lock file that was read
      attr_reader :lock
      # @return [String, nil] why it could not be read
      attr_reader :problem
      # @return [String, nil] how to mend that
      attr_reader :mend

      # @param directory [String] the application's folder
      # @param env [Hash, ENV]
      def initialize(directory, env = ENV)
        @env = env
        @gemfile = gemfile(directory, env)
        @lock = lock_of(@gemfile)
        @locked = read_lock
      end

      # @return [Boolean] whether there is a Gemfile and gems are loaded without it
      def ignored?
        return false if @gemfile.nil?

        # Bundler.setup and Bundler.require set up Bundler in children, too.
        !@env["RUBYOPT"].to_s.include?("bundler/setup") &&
          $LOADED_FEATURES.none? { |feature| feature.end_with?("/bundler/setup.rb") }
      end

      # @return [Hash{String => Gem::Version}] loaded versions, and locked ones of other gems
      def versions
        @locked.merge(Gem.loaded_specs.transform_values(&:version))
      end

      # @param name [String]
      # @return [Gem::Version, nil]
      def version(name)
        Gem.loaded_specs[name]&.version || @locked[name]
      end

      # @param name [String]
      # A bundle puts gems on the load path that an application may never require.
      # @return [Boolean] whether a file of the gem has been loaded
      def loaded?(name)
        spec = Gem.loaded_specs[name] or return false
        paths = spec.full_require_paths.map { |path| "#{path}/" }
        $LOADED_FEATURES.any? { |feature| paths.any? { |path| feature.start_with?(path) } }
      end

      # @return [String, nil] file name of the Gemfile
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

        lock = "#{gemfile}.lock"
        if File.basename(gemfile) == "gems.rb"
          lock = File.join(File.dirname(gemfile), FILES["gems.rb"])
        end
        lock if File.file?(lock)
      end

      def read_lock
        return {} unless @lock

        require "bundler"
        specs = with_gemfile { ::Bundler::LockfileParser.new(lock_text).specs }
        specs.to_h { |spec| [spec.name, spec.version] }
      rescue SystemCallError => e
        unreadable(SourceError.reason(e), "make it readable for user #{::Process.euid}")
      rescue StandardError, LoadError => e # the file may have been edited by hand
        unreadable(SourceError.summary(e), "bundle lock")
      end

      # Bundler looks for the folder that paths in the lock file start at by this variable, or from
      # the current folder on.
      def with_gemfile
        before = ENV.fetch("BUNDLE_GEMFILE", nil)
        ENV["BUNDLE_GEMFILE"] = @gemfile
        yield
      ensure
        ENV["BUNDLE_GEMFILE"] = before
      end

      def lock_text
        File.read(@lock, encoding: Encoding::UTF_8).scrub("?")
      end

      def unreadable(problem, mend)
        @problem = problem
        @mend = mend
        {}
      end
    end
  end
end
