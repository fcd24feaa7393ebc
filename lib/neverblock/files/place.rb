# frozen_string_literal: true

# Maps the path of a request to a file or folder under a served folder, by the rules of the file
# server (core/files/path.h, core/os/open_beneath.h): the path is decoded once, no form of it leaves
# the folder, names with a leading dot do not exist, and symbolic links follow the setting
# `symlinks`.

module NeverBlock
  module Files
    class Place
      # Longest decoded path (core/files/path.h).
      BYTES_MAX = 2_048
      # Control characters (C0, DEL, C1), and characters that some system uses as separators.
      REFUSED = %r{[\u0000-\u001f\u007f-\u009f/\\]}.freeze
      ENCODED = /%(\h\h)/n.freeze
      # Bytes of a path segment that must be encoded (RFC 3986 section 2.3).
      PLAIN = /[^A-Za-z0-9._~-]/n.freeze
      SEPARATOR = "/".b.freeze

      # @param name [String] bytes of a file's or folder's name
      # @return [String] the name as one segment of a URL path
      def self.encode(name)
        name.b.gsub(PLAIN) { |byte| format("%%%02X", byte.ord) }.force_encoding(Encoding::US_ASCII)
      end

      # @param name [String] of a file or folder
      # @return [Boolean] whether a request can name it
      def self.served?(name)
        text = name.dup.force_encoding(Encoding::UTF_8)
        text.valid_encoding? && !text.empty? && !text.start_with?(".") && !text.match?(REFUSED)
      end

      # @param root [String] absolute path of the served folder
      # @param symlinks [Symbol] :inside, :owner or :follow
      # @raise [SystemCallError] when the folder does not exist
      def initialize(root, symlinks = :inside)
        @root = File.realpath(root).b.freeze
        @symlinks = symlinks
        freeze
      end

      # @param path [String] of a request, encoded
      # @return [Array<String>, nil] its decoded names; nil: no such path can exist here
      def names(path)
        return nil if !path.start_with?("/") || path.include?("//")
        return nil if path.bytesize > BYTES_MAX * 3

        segments = path.b[1..].delete_suffix("/").split("/", -1)
        names = segments.map { |segment| decode(segment) or return nil }
        names if names.sum { |name| name.bytesize + 1 } <= BYTES_MAX
      end

      # @param names [Array<String>]
      # @return [String, nil] their absolute path without links; nil: a link leads to a place that
      #   is not allowed
      # @raise [SystemCallError] when there is no such file, or permission is missing
      def find(names)
        @symlinks == :owner ? walk(names) : within(File.realpath(File.join(@root, *names)).b)
      end

      private

      # @return [String, nil] nil: not a name that is served. "." and ".." begin with a dot.
      def decode(segment)
        return nil if segment.match?(/%(?!\h\h)|[\x00-\x20\x7f]/n)

        name = segment.gsub(ENCODED) { Regexp.last_match(1).hex.chr }
        name.b if self.class.served?(name)
      end

      def within(path)
        return path if @symlinks == :follow || path == @root

        path if path.start_with?(@root.delete_suffix(SEPARATOR) + SEPARATOR)
      end

      # Follows a link only if its owner also owns its target.
      def walk(names)
        names.inject(@root) do |folder, name|
          path = File.join(folder, name)
          link = File.lstat(path)
          next path unless link.symlink?
          return nil unless link.uid == File.stat(path).uid

          File.realpath(path).b
        end
      end
    end
  end
end
