# frozen_string_literal: true

require "fileutils"
require "time"
require "tmpdir"

module NeverBlock
  module Bench
    # Files of random bytes that servers serve and clients know, in a folder that is gone when this process ends.
    class FileSet
      # What ServerProcess asks a fresh server for.
      PROBE = "hello.txt"
      PROBE_TEXT = "Hello World"
      # Every server calls a file of an extension that it does not know so.
      TYPE = "application/octet-stream"
      # Of what was never so: a file that changed within the last seconds may have another tag.
      AGE_SECONDS = 3_600
      PART_BYTES = 1_000_000

      # One file: where it lies, what it is asked by, when it was changed.
      Entry = Struct.new(:disk, :url, :modified, keyword_init: true) do
        # @return [String] as in Last-Modified
        def modified_text
          modified.httpdate
        end
      end

      class << self
        # The set that all claims of this process share; made when it is first asked for.
        # @return [FileSet]
        def shared
          @shared ||= new.tap { |set| at_exit { set.remove } }
        end
      end

      # @return [String] the folder
      attr_reader :directory

      # @param parent [String] folder of the folder
      def initialize(parent: Dir.tmpdir)
        @directory = Dir.mktmpdir("neverblock-bench-files", parent)
        @modified = Time.at(Time.now.to_i - AGE_SECONDS)
        @entries = {}
        File.chmod(0o755, @directory) # a worker that drops root still has to enter
        keep(PROBE) { |file| file.write(PROBE_TEXT) }
      end

      # @param name [String] size and extension: "64KiB.bin", "20MB.bin", "1KB.bin", perhaps with "-2" before the extension
      # @return [Entry] of a file that is on the disk and in memory
      def entry(name)
        @entries[name] ||= keep(name) do |file|
          left = self.class.bytes(name)
          left -= file.write(Random.bytes([left, PART_BYTES].min)) while left.positive?
          file.fsync # nothing is written back while servers are measured
        end
      end

      # @param name [String]
      # @return [Integer]
      # @raise [Error] when it tells no size
      def self.bytes(name)
        count, unit = name.match(/\A(\d+)(KiB|MiB|KB|MB)(?:-\d+)?\.bin\z/)&.captures
        raise Error, "#{name}: a size like 64KiB.bin or 20MB.bin is wanted" unless count

        Integer(count) * { "KiB" => 1024, "MiB" => 1_048_576, "KB" => 1_000, "MB" => 1_000_000 }.fetch(unit)
      end

      def remove
        FileUtils.rm_rf(@directory)
      end

      private

      def keep(name, &block)
        path = File.join(@directory, name)
        File.open(path, "wb", &block)
        File.utime(@modified, @modified, path)
        Entry.new(disk: path, url: "/#{name}", modified: @modified)
      end
    end
  end
end
