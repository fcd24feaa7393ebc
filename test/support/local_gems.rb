# frozen_string_literal: true

# A source of gems in a folder, for Bundler by its file:// address.

require "fileutils"
require "rubygems/package"
require "zlib"

class LocalGems
  # @return [String]
  attr_reader :folder

  # @param folder [String] it is made there
  # @param files [Array<String>] gems
  def initialize(folder, files)
    @folder = folder
    FileUtils.mkdir_p([File.join(folder, "gems"), quick])
    FileUtils.cp(files, File.join(folder, "gems"))
    specs = files.map { |file| Gem::Package.new(file).spec }
    specs.each { |spec| write_spec(spec) }
    list = specs.map { |spec| [spec.name, spec.version, spec.original_platform] }
    before, released = list.partition { |_, version, _| version.prerelease? }
    { "specs" => released, "latest_specs" => released, "prerelease_specs" => before }
      .each { |name, entries| write_list(name, entries) }
  end

  # @return [String]
  def url = "file://#{@folder}"

  private

  def quick = File.join(@folder, "quick/Marshal.4.8")

  def write_spec(spec)
    data = Zlib::Deflate.deflate(Marshal.dump(spec))
    File.binwrite(File.join(quick, "#{spec.full_name}.gemspec.rz"), data)
  end

  def write_list(name, entries)
    Zlib::GzipWriter.open(File.join(@folder, "#{name}.4.8.gz")) do |file|
      file.write(Marshal.dump(entries))
    end
  end
end
