# frozen_string_literal: true

# A Rails application as `rails new` makes it, with one line in its Gemfile for the server, and what
# the tests ask it for put on top (rails_app/). Generated once for a process; each server gets a
# copy.

require "fileutils"
require "rbconfig"
require "tmpdir"

require_relative "server_process"

class RailsApplication
  ROOT = ServerProcess::ROOT
  ON_TOP = File.join(__dir__, "rails_app")
  GEMFILE = File.join(ROOT, "Gemfile")
  # Of a generated application that no test needs.
  SKIP = %w[
    bundle git javascript asset-pipeline jbuilder test bootsnap docker ci
  ].map { |name| "--skip-#{name}" }.freeze
  # Variables of the tests' own bundle, and of whoever runs them.
  FOREIGN = %w[
    RUBYOPT RUBYLIB GEM_HOME GEM_PATH BUNDLER_SETUP BUNDLER_VERSION BUNDLE_LOCKFILE BUNDLE_BIN_PATH
    BUNDLE_FROZEN BUNDLE_WITHOUT RAILS_ENV RACK_ENV PORT HOST BINDING PIDFILE DATABASE_URL
    WEB_CONCURRENCY
  ].freeze

  class << self
    # @return [RailsApplication] the one with the gems of the checkout's Gemfile
    def instance
      @instance ||= new
    end
  end

  # @param gemfile [String] text of the application's
  # @param bundle [Hash{String => String, nil}] where its gems are
  # @param generator [Hash{String => String, nil}] a bundle that has rails
  def initialize(gemfile: self.class.gemfile,
                 bundle: { "BUNDLE_PATH" => File.join(ROOT, "vendor/bundle") },
                 generator: bundle.merge("BUNDLE_GEMFILE" => GEMFILE))
    @gemfile = gemfile
    @bundle = bundle
    @generator = generator
  end

  # @return [String] text of a Gemfile: the line for the server, and the versions of the checkout's
  def self.gemfile(more = [])
    [
      "source Gem.sources.to_a.first",
      *pinned("rails", "sqlite3"),
      "gem \"neverblock\", path: #{ROOT.inspect}",
      *more,
      ""
    ].join("\n")
  end

  # @param names [Array<String>] of gems
  # @return [Array<String>] the checkout's lines for them
  def self.pinned(*names)
    File.readlines(GEMFILE).grep(/^\s*gem "(#{names.join("|")})"/).map(&:strip)
  end

  # Fills a folder with the application.
  # @param directory [String]
  # @return [void]
  def copy_to(directory)
    FileUtils.cp_r("#{template}/.", directory)
  end

  # @param directory [String] where it was copied to
  # @return [Hash{String => String, nil}] the environment in which its commands run
  def env(directory)
    FOREIGN.to_h { |name| [name, nil] }
           .merge(@bundle, "BUNDLE_GEMFILE" => File.join(directory, "Gemfile"))
  end

  private

  def template
    @template ||= Dir.mktmpdir("neverblock-rails").tap do |folder|
      Minitest.after_run { FileUtils.rm_rf(folder) }
      generate(folder)
    end
  end

  def generate(folder)
    run(env(folder).merge(@generator),
        "bundle", "exec", "rails", "new", folder, "--name=probe", *SKIP)
    File.write(File.join(folder, "Gemfile"), @gemfile)
    FileUtils.cp_r("#{ON_TOP}/.", folder)
    run(env(folder), "bundle", "install", "--local", "--quiet", chdir: folder)
  end

  def run(env, *command, **options)
    output = IO.popen(env, command, err: %i[child out], **options, &:read)
    raise "#{command.join(" ")} failed:\n#{output}" unless $?.success?
  end
end

# `bin/rails server` of such an application, or another command.
class RailsServer < ServerProcess
  # Words of `rails server` for any port of 127.0.0.1. They know no https: then the settings file
  # says it, which is among the files to write.
  ANY, WRITE = if Over.mode == :plain
                 [%w[-p 0 -b 127.0.0.1].freeze, {}.freeze]
               else
                 bind = "bind #{Over.bind("http://127.0.0.1:0").inspect}\n"
                 [[].freeze, { "config/neverblock.rb" => bind }.freeze]
               end

  # @param words [Array<String>] of the command
  # @param application [RailsApplication]
  # @param write [Hash{String => String}] further files of the application, by their paths in it
  def initialize(*words, application: RailsApplication.instance, env: {}, write: {}, urls: 1)
    super("", binds: [nil] * urls)
    @words = words
    application.copy_to(@directory)
    write.each do |path, text|
      file = File.join(@directory, path)
      FileUtils.mkdir_p(File.dirname(file))
      File.write(file, text)
    end
    @app = File.read(File.join(@directory, "config.ru"))
    @env = application.env(@directory).merge(env)
  end

  # @return [Hash{String => String, nil}]
  attr_reader :env

  # @return [String] of log/NAME.log so far
  def log(name = "development")
    path = in_directory("log/#{name}.log")
    File.exist?(path) ? File.read(path) : ""
  end

  private

  def words(_rackup)
    @words
  end
end
