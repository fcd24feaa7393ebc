# frozen_string_literal: true

# From the path of a request to what lies there under a served folder, by the rules of the static handler (core/files/path.h, core/os/open_beneath.h): decoded
# once, no way out of the folder however it is written, no names that begin with a dot, symbolic links as the setting `symlinks` says.

module NeverBlock
  module Files
    class Place
      # As core/files/path.h has it.
      BYTES_MAX = 2_048
      # Control characters (C0, DEL, C1), and what some system takes for a separator.
      REFUSED = %r{[\u0000-\u001f\u007f-\u009f/\\]}.freeze
      ENCODED = /%(\h\h)/n.freeze
      # RFC 3986 section 2.3; what lies between slashes is encoded but for these.
      PLAIN = /[^A-Za-z0-9._~-]/n.freeze
      SEPARATOR = "/".b.freeze

      # @param name [String] of a file or folder, as bytes
      # @return [String] the same as one segment of a path
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
      # @raise [SystemCallError] when it is not there
      def initialize(root, symlinks = :inside)
        @root = File.realpath(root).b.freeze
        @symlinks = symlinks
        freeze
      end

      # @param path [String] of a request, as it was sent
      # @return [Array<String>, nil] its names; nil: it can name nothing here
      def names(path)
        return nil if !path.start_with?("/") || path.include?("//") || path.bytesize > BYTES_MAX * 3

        names = path.b[1..].delete_suffix("/").split("/", -1).map { |segment| decode(segment) or return nil }
        names if names.sum { |name| name.bytesize + 1 } <= BYTES_MAX
      end

      # @param names [Array<String>]
      # @return [String, nil] the absolute path, without links, of what they name; nil: a link on the way leads where none may lead
      # @raise [SystemCallError] when there is nothing, or it may not be looked at
      def find(names)
        @symlinks == :owner ? walk(names) : within(File.realpath(File.join(@root, *names)).b)
      end

      private

      # nil: no name of anything that is served. (A "." or ".." begins with a dot.)
      def decode(segment)
        return nil if segment.match?(/%(?!\h\h)|[\x00-\x20\x7f]/n)

        name = segment.gsub(ENCODED) { Regexp.last_match(1).hex.chr }
        name.b if self.class.served?(name)
      end

      def within(path)
        path if @symlinks == :follow || path == @root || path.start_with?(@root.delete_suffix(SEPARATOR) + SEPARATOR)
      end

      # A link is followed when it belongs to the owner of what it leads to.
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
