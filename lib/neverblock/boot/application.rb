# frozen_string_literal: true

# Loads a Rack application from its rackup file (config.ru). Every failure becomes one line: where,
# what, and how to mend it.

require "neverblock/db/active_record"
require "neverblock/errors"
require "neverblock/rails/isolation"
require "neverblock/config/source_error"
require "neverblock/config/suggestion"

module NeverBlock
  module Application
    DEFAULT_FILE = "config.ru"

    module_function

    # @param name [String, nil] path of a rackup file; nil: config.ru of the directory
    # @param directory [String] base of relative paths
    # @return [#call] the Rack application
    # @raise [ApplicationError] with the error of the file itself as its cause
    def load(name = nil, directory: Dir.pwd)
      path = locate(name, directory)
      require_rack
      app = build(path)
      return app if app.respond_to?(:call)

      raise ApplicationError, "#{SourceError.short(path)}: run got #{app.class}, " \
                              "which does not respond to call"
    end

    # @param error [SystemExit] which has ended #load
    # @return [String] who has called exit
    def exit_told(error)
      place = error.backtrace&.first.to_s[/\A.+?:\d+/]
      at = " at #{SourceError.short(place)}" if place
      "exit(#{error.status}) was called#{at} while the application was loaded"
    end

    # Facts about the loaded application that its operator should know.
    # @return [Array<String>] lines for the log
    def notices
      Isolation.notices
    end

    # Finds the rackup file.
    # @return [String] absolute path
    # @raise [ApplicationError]
    def locate(name, directory = Dir.pwd)
      path = File.expand_path(name || DEFAULT_FILE, directory)
      raise ApplicationError, folder_named(name, path) if File.directory?(path)
      raise ApplicationError, unreadable(path) unless reachable?(path)
      raise ApplicationError, missing(name, path) unless File.exist?(path)
      raise ApplicationError, unreadable(path) unless File.readable?(path)

      path
    end

    # Loads the gem rack. Its version decides which keys the env has (Rack 2 or 3).
    # @return [void]
    # @raise [ApplicationError]
    def require_rack
      require "rack"
      require "rack/builder"
    rescue LoadError => e
      raise unless e.path&.start_with?("rack")

      raise ApplicationError, "the gem rack is missing: add it to the Gemfile and start with " \
                              "`bundle exec neverblock`, or `gem install rack`"
    end

    # Rack 2 returns the application and the options of a `#\` line. Rack 3 returns the application.
    def build(path)
      built = DB::ActiveRecord.registering { Rack::Builder.parse_file(path) }
      built.is_a?(Array) ? built.first : built
    rescue SystemExit, SignalException
      raise
    rescue Exception => e # rubocop:disable Lint/RescueException -- a file may raise anything
      raise ApplicationError, failure(e, path)
    end

    def folder_named(name, path)
      inside = File.join(name.to_s, DEFAULT_FILE)
      if File.exist?(File.join(path, DEFAULT_FILE))
        return "#{name} is a folder; name a rackup file, such as #{inside}"
      end

      "#{name} is a folder; name a rackup file, or share its files: neverblock files #{name}"
    end

    def missing(name, path)
      folder = File.dirname(path)
      if name.nil?
        return "there is no #{DEFAULT_FILE} in #{folder}; start in the application's folder, " \
               "or name its rackup file: neverblock path/to/config.ru " \
               "(to share this folder's files: neverblock files)"
      end

      return "there is no rackup file #{path}: its folder does not exist" unless
        File.directory?(folder)

      "there is no rackup file #{path}; #{other_file(name)}"
    end

    def other_file(name)
      near = near_file(name) and return "did you mean #{near}?"

      beside = File.join(File.dirname(name), DEFAULT_FILE)
      return "name another one: neverblock path/to/config.ru" unless File.file?(beside)

      "#{beside.delete_prefix("./")} is there: neverblock #{beside.delete_prefix("./")}"
    end

    # A rackup file with almost this name, in the same folder.
    def near_file(name)
      files = Dir.children(File.dirname(name)).grep(/\.ru\z/)
      near = Suggestion.nearest(File.basename(name), files) or return
      File.join(File.dirname(name), near).delete_prefix("./")
    rescue SystemCallError
      nil
    end

    # File.exist? is false also for a file in a folder that this user may not enter.
    def reachable?(path)
      File.stat(path)
    rescue Errno::EACCES
      false
    rescue SystemCallError
      true
    end

    def unreadable(path)
      "cannot read #{path}: permission denied for user #{Process.euid}"
    end

    def failure(error, path)
      if error.is_a?(RuntimeError) && error.message == "missing run or map statement"
        return "#{SourceError.short(path)}: the file runs no application; " \
               "end it with `run APP`, where APP responds to call(env)"
      end

      no_text(error, path) || no_rackup_file(error, path) || SourceError.describe(error, path)
    end

    # Rack reads the file in the encoding of the locale, and refuses what is none.
    def no_text(error, path)
      return unless error.is_a?(ArgumentError) && error.message.start_with?("invalid byte sequence")
      return if File.read(path).valid_encoding?

      locale = Encoding.default_external
      mend = locale == Encoding::UTF_8 ? "save it in UTF-8" : "start with LANG=C.UTF-8"
      "#{SourceError.short(path)}: the file is no text in #{locale}; #{mend}"
    end

    # Of a file of Ruby, Rack loads it and takes the constant of its name.
    def no_rackup_file(error, path)
      return unless error.is_a?(NameError) && path.end_with?(".rb")

      name = File.basename(path, ".rb")
      constant = name.split("_").map(&:capitalize).join
      return unless error.name.to_s == constant && error.receiver.equal?(Object)

      app = defined?(::Sinatra::Application) ? "Sinatra::Application" : "APP"
      "#{SourceError.short(path)} is no rackup file and has no constant #{constant}; write a " \
        "config.ru beside it: require_relative #{name.inspect}; run #{app}"
    rescue ArgumentError # no receiver is known
      nil
    end

    private_class_method :build, :folder_named, :missing, :other_file, :near_file, :reachable?,
                         :unreadable, :failure, :no_text, :no_rackup_file
  end
end
