# frozen_string_literal: true

# Gems of a version of their own for one test: a gemfile of test/integration, installed once under
# tmp/, and the environment in which a child finds them.

require "fileutils"

class GemBundle
  ROOT = File.expand_path("../..", __dir__)
  # As bin/setup does: what Debian has need not be compiled.
  SYSTEM_LIBRARIES = {
    "BUNDLE_BUILD__NOKOGIRI" => "--use-system-libraries",
    "BUNDLE_BUILD__SQLITE3" => "--enable-system-libraries"
  }.freeze

  # @param gemfile [String] path
  # @param name [String] of the folder under tmp/
  def initialize(gemfile, name)
    @gemfile = gemfile
    @directory = File.join(ROOT, "tmp", name)
  end

  # Installs what is missing.
  # @return [Hash{String => String, nil}]
  def env
    @env ||= begin
      # The lock file belongs to the bundle, not to the source tree.
      copy = File.join(@directory, "Gemfile")
      FileUtils.mkdir_p(@directory)
      FileUtils.cp(@gemfile, copy) unless File.exist?(copy) && FileUtils.identical?(@gemfile, copy)
      # BUNDLE_LOCKFILE is of Bundler 4: the caller's own lock file, which would be written over.
      env = {
        "BUNDLE_GEMFILE" => copy, "BUNDLE_LOCKFILE" => nil, "BUNDLE_PATH" => @directory,
        "BUNDLE_FROZEN" => nil, "BUNDLE_WITHOUT" => nil, "RUBYOPT" => nil, "RUBYLIB" => nil,
        "GEM_HOME" => nil, "GEM_PATH" => nil, **SYSTEM_LIBRARIES
      }
      install(env)
      env
    end
  end

  private

  def install(env)
    return if system(env, "bundle", "check", out: File::NULL, err: File::NULL)

    output = IO.popen(env, %w[bundle install --quiet], err: %i[child out], &:read)
    raise "#{@gemfile} could not be installed:\n#{output}" unless $?.success?
  end
end
