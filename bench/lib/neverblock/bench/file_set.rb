# frozen_string_literal: true

require "fileutils"
require "time"
require "tmpdir"

module NeverBlock
  module Bench
    # Files of random bytes that servers serve and clients compare, in a folder that is removed when
    # this process ends.
    class FileSet
      # The file that ServerProcess requests from a fresh server.
      PROBE = "hello.txt"
      PROBE_TEXT = "Hello World"
      # The content type of every server for an unknown extension.
      TYPE = "application/octet-stream"
      # Age of the files: some servers make another entity tag for a file changed within seconds.
      AGE_SECONDS = 3_600
      PART_BYTES = 1_000_000

      # A file: its path on disk, its URL path, its time of change.
      Entry = Struct.new(:disk, :url, :modified, keyword_init: true) do
        # @return [String] the value of Last-Modified
        def modified_text
          modified.httpdate
        end
      end

      class << self
        # The set that all claims of this process share, made at first use.
        # @return [FileSet]
        def shared
          @shared ||= new.tap { |set| at_exit { set.remove } }
        end
      end

      # @return [String] the folder
      attr_reader :directory

      # @param parent [String] the folder to make it in
      def initialize(parent: Dir.tmpdir)
        @directory = Dir.mktmpdir("neverblock-bench-files", parent)
        @modified = Time.at(Time.now.to_i - AGE_SECONDS)
        @entries = {}
        File.chmod(0o755, @directory) # a worker that drops root still has to enter
        keep(PROBE) { |file| file.write(PROBE_TEXT) }
      end

      # @param name [String] size and extension, such as "64KiB.bin", "20MB.bin" or "1KB.bin", with
      #   an optional "-2" before the extension
      # @return [Entry] a file on the disk and in memory
      def entry(name)
        @entries[name] ||= keep(name) do |file|
          left = self.class.bytes(name)
          left -= file.write(Random.bytes([left, PART_BYTES].min)) while left.positive?
          file.fsync # so that nothing is written back during measurements
        end
      end

      # @param name [String]
      # @return [Integer]
      # @raise [Error] when the name has no size
      def self.bytes(name)
        count, unit = name.match(/\A(\d+)(KiB|MiB|KB|MB)(?:-\d+)?\.bin\z/)&.captures
        raise Error, "#{name}: must be a size such as 64KiB.bin or 20MB.bin" unless count

        factors = { "KiB" => 1024, "MiB" => 1_048_576, "KB" => 1_000, "MB" => 1_000_000 }
        Integer(count) * factors.fetch(unit)
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
