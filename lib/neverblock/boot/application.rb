# frozen_string_literal: true

# Loads a Rack application from its rackup file (config.ru) and turns everything that can go wrong with it into one line: where, what, and the mend.

require "neverblock/db/active_record"
require "neverblock/errors"
require "neverblock/rails/isolation"
require "neverblock/config/source_error"

module NeverBlock
  module Application
    DEFAULT_FILE = "config.ru"

    module_function

    # @param name [String, nil] path of a rackup file; nil: config.ru here
    # @param directory [String] what relative paths and the default start from
    # @return [#call] the Rack application
    # @raise [ApplicationError] with the error of the file itself as its cause
    def load(name = nil, directory: Dir.pwd)
      path = locate(name, directory)
      require_rack
      app = build(path)
      return app if app.respond_to?(:call)

      raise ApplicationError, "#{SourceError.short(path)}: run was given #{app.class}, which does not respond to call"
    end

    # What must be known about the application that has been loaded.
    # @return [Array<String>] lines for the log
    def notices
      Isolation.notices
    end

    # @return [String] absolute path
    # @raise [ApplicationError]
    def locate(name, directory = Dir.pwd)
      path = File.expand_path(name || DEFAULT_FILE, directory)
      raise ApplicationError, directory_given(name, path) if File.directory?(path)
      raise ApplicationError, missing(name, path) unless File.exist?(path)
      raise ApplicationError, "cannot read #{path}: permission denied for user #{Process.euid}" unless File.readable?(path)

      path
    end

    # Loads the gem, whose version decides what the env has (Rack 2 or 3).
    # @return [void]
    # @raise [ApplicationError]
    def require_rack
      require "rack"
      require "rack/builder"
    rescue LoadError => e
      raise unless e.path&.start_with?("rack")

      raise ApplicationError, "the gem rack is not there: add it to the Gemfile and start with `bundle exec neverblock`, or `gem install rack`"
    end

    # Rack 2 returns the application and the options of a `#\` line, Rack 3 the application alone.
    def build(path)
      built = DB::ActiveRecord.registering { Rack::Builder.parse_file(path) }
      built.is_a?(Array) ? built.first : built
    rescue SystemExit, SignalException
      raise
    rescue Exception => e # rubocop:disable Lint/RescueException -- a file may raise whatever it likes
      raise ApplicationError, failure(e, path)
    end

    def directory_given(name, path)
      inside = File.join(name.to_s, DEFAULT_FILE)
      "#{name} is a folder: name a rackup file#{", such as #{inside}" if File.exist?(File.join(path, DEFAULT_FILE))}"
    end

    def missing(name, path)
      return "no #{DEFAULT_FILE} in #{File.dirname(path)}: go to the application's folder, or name its rackup file, neverblock path/to/config.ru" unless name

      "no rackup file #{path}#{": the folder is not there either" unless File.directory?(File.dirname(path))}"
    end

    def failure(error, path)
      if error.is_a?(RuntimeError) && error.message == "missing run or map statement"
        return "#{SourceError.short(path)}: nothing is run: end the file with `run APP`, where APP responds to call(env)"
      end

      SourceError.describe(error, path)
    end

    private_class_method :build, :directory_given, :missing, :failure
  end
end
