# frozen_string_literal: true

# Tests the same table and the same splits with every body read while it arrives (a route with
# `input: :stream`). The way of a body inside the server must make no difference.

require "tmpdir"

require_relative "splits_test"
require_relative "vectors_test"

module StreamedInput
  def server_options
    @folder ||= Dir.mktmpdir("neverblock-routes").tap do |path|
      Minitest.after_run { FileUtils.rm_rf(path) }
    end
    path = File.join(@folder, "neverblock.rb")
    *words, unhurried = ServerProcess::UNHURRIED
    File.write(path, "#{File.read(unhurried)}route \"/*\", input: :stream\n")
    { options: [*words, path] }
  end
end

class StreamedVectorsTest < VectorsTest
  extend StreamedInput

  def setup
    skip "streamed input is asked for in our configuration file" unless neverblock?
  end
end

class StreamedSplitsTest < SplitsTest
  extend StreamedInput

  def setup
    skip "streamed input is asked for in our configuration file" unless neverblock?
  end
end
