# frozen_string_literal: true

# The gem as a user gets it: built from this tree, and installed with rack into a GEM_HOME that has
# nothing else. Its commands run without anything of this process's bundle.

require "fileutils"
require "open3"
require "rbconfig"
require "tmpdir"

require_relative "server_process"

class InstalledGem
  ROOT = ServerProcess::ROOT

  # @return [String] the GEM_HOME
  attr_reader :home
  # @return [String] what extconf.rb and make wrote
  attr_reader :build_output

  # @param file [String] path of the gem
  # @param switches [Array<String>] of extconf.rb
  # @param path [String, nil] PATH of its commands
  def initialize(file, switches: [], path: nil)
    @path = path || ENV.fetch("PATH")
    @home = Dir.mktmpdir("neverblock-gem-home")
    rack = Gem.loaded_specs.fetch("rack").cache_file
    said, status = run("gem", "install", "--local", "--no-document", rack, file,
                       *(["--", *switches] unless switches.empty?))
    raise "the gem cannot be installed:\n#{said}" unless status.success?

    logs = Dir[File.join(home, "extensions/**/gem_make.out")]
    @build_output = logs.map { |path| File.read(path) }.join
  end

  # @param folder [String] where the gem's file goes
  # @param options [Array<String>] of bin/build-gem
  # @return [Array<String>] paths of the gems, that with sources first
  def self.build(folder, options: [])
    said, status = Open3.capture2e({ "RUBYOPT" => nil }, RbConfig.ruby,
                                   File.join(ROOT, "bin/build-gem"), "--out", folder, *options)
    raise "the gem cannot be built:\n#{said}" unless status.success?

    Dir[File.join(folder, "*.gem")].sort_by(&:length)
  end

  # @return [Hash{String => String, nil}] of its commands; nil: not set
  def environment
    ENV.to_h.transform_values { nil }.merge(
      ENV.slice("LANG", "NB_TEST_WAIT_SECONDS"),
      { "PATH" => @path, "HOME" => home, "GEM_HOME" => home, "GEM_PATH" => home,
        "MAKEFLAGS" => "-j2" }
    )
  end

  # @param words [Array<String>] a command of Ruby's or of the gem, and its arguments
  # @return [Array(String, Process::Status)] with what it wrote
  def run(*words, chdir: home)
    Open3.capture2e(environment, *command(words), chdir: chdir)
  end

  # @return [Array<String>]
  def command(words)
    own = File.join(home, "bin", words.first)
    return [RbConfig.ruby, own, *words.drop(1)] if File.exist?(own)
    return [RbConfig.ruby, *words.drop(1)] if words.first == "ruby"

    [RbConfig.ruby, tool(words.first), *words.drop(1)]
  end

  # @param name [String] of a command that came with Ruby
  # @return [String] its path
  def tool(name)
    folders = [RbConfig::CONFIG["bindir"], *ENV.fetch("PATH").split(":")]
    folders.map { |folder| File.join(folder, name) }.find { |path| File.file?(path) }
  end

  # @return [String] where its files are
  def folder
    Dir[File.join(home, "gems/neverblock*-*")].first
  end

  # @yieldparam server [ServerProcess]
  def serve(app, **options, &block)
    Server.run(self, app, **options, &block)
  end

  # @return [void]
  def remove
    FileUtils.rm_rf(home)
  end

  # Its own command.
  class Server < ServerProcess
    def initialize(gem, app, **options)
      @gem = gem
      super(app, env: gem.environment, **options)
    end

    private

    def words(rackup)
      @gem.command(["neverblock", rackup, *@binds.flat_map { |url| ["-b", url] }, *@options])
    end
  end
end
