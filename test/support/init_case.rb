# frozen_string_literal: true

require "fileutils"
require "tmpdir"
require "neverblock/config/user_file"
require "neverblock/init/document"

# For tests of `neverblock init`: what becomes of the text of a file. The test has READER.
module InitCase
  private

  def reader(text, name = "config/their.rb") = self.class::READER.new(text, name)

  # @return [Array<String>] lines for config/neverblock.rb
  def carried(text) = reader(text).entries.flat_map { |entry| entry.translation.lines }

  def kinds(text) = reader(text).entries.map { |entry| entry.translation.kind }
  def notes(text) = reader(text).entries.map { |entry| entry.translation.note }

  # What a server reads of the file that init makes.
  # @param variables [Hash{String => String, nil}] of the environment meanwhile
  # @return [Hash{Symbol => Object}] see Config::UserFile
  def loaded(*sources, variables: {})
    before = variables.to_h { |name, _| [name, ENV.fetch(name, nil)] }
    ENV.update(variables)
    Dir.mktmpdir do |folder|
      path = File.join(File.realpath(folder), NeverBlock::Config::UserFile::DEFAULT)
      FileUtils.mkdir_p(File.dirname(path))
      File.write(path, document(*sources))
      NeverBlock::Config::UserFile.read(path)
    end
  ensure
    ENV.update(before)
  end

  # @return [Array<String>] the addresses that a server reads
  def addresses(values)
    values.fetch(:bind, []).map { |bind| bind.path ? File.basename(bind.path) : bind.url }
  end

  # @return [String] the whole of config/neverblock.rb
  def document(*sources) = NeverBlock::Init::Document.new(sources).text
end
