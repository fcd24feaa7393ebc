# frozen_string_literal: true

require "tmpdir"
require "neverblock/config/user_file"

# What a configuration file with this text says.
module ConfigText
  private

  # @return [Hash{Symbol => Object}] see Config::UserFile
  def read(text)
    Dir.mktmpdir do |folder|
      path = File.join(folder, "neverblock.rb")
      File.write(path, text)
      NeverBlock::Config::UserFile.read(path)
    end
  end
end
