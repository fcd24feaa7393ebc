# frozen_string_literal: true

# A folder of files as a server under test is given it, with what must never leave it beside it.

require "fileutils"
require "tmpdir"
require "zlib"

class ServedFolder
  SECRET = "the secret of this machine"

  # @return [String] the folder; beside it lies the file "secret.txt"
  attr_reader :path

  # @param files [Hash{String => String}] name and content
  def initialize(files = {})
    @top = File.realpath(Dir.mktmpdir("neverblock-files"))
    @path = File.join(@top, "public")
    FileUtils.mkdir_p(@path)
    File.write(File.join(@top, "secret.txt"), SECRET)
    files.each { |name, content| write(name, content) }
  end

  # @return [String] its absolute path
  def write(name, content, modified: nil)
    file = File.join(@path, name)
    FileUtils.mkdir_p(File.dirname(file))
    File.binwrite(file, content)
    File.utime(modified, modified, file) if modified
    file
  end

  # In one step, as deployments do it.
  def replace(name, content)
    fresh = write("#{name}.fresh", content)
    File.rename(fresh, File.join(@path, name))
  end

  def delete(name)
    File.unlink(File.join(@path, name))
  end

  def link(name, target)
    File.symlink(target, File.join(@path, name))
  end

  def beside(name)
    File.join(@top, name)
  end

  def remove
    FileUtils.rm_rf(@top)
  end

  def self.gzip(text)
    Zlib.gzip(text)
  end
end
