# frozen_string_literal: true

require "neverblock/init/document"

# For tests of `neverblock init`: what becomes of the text of a file. The test has READER.
module InitCase
  private

  def reader(text, name = "their.rb") = self.class::READER.new(text, name)

  # @return [Array<String>] lines for config/neverblock.rb
  def carried(text) = reader(text).entries.flat_map { |entry| entry.translation.lines }

  def kinds(text) = reader(text).entries.map { |entry| entry.translation.kind }
  def notes(text) = reader(text).entries.map { |entry| entry.translation.note }

  # @return [String] the whole of config/neverblock.rb
  def document(*sources) = NeverBlock::Init::Document.new(sources).text
end
