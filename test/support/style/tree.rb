# frozen_string_literal: true

require "open3"

module Style
  # One breach of a rule.
  Violation = Struct.new(:path, :line, :message) do
    def to_s
      [path, line, message].compact.join(": ")
    end
  end

  # The files a rule looks at: what git knows or would be given. Without git (an unpacked archive)
  # that is everything that is not a product.
  class Tree
    PRODUCTS = %r{
      \A(tmp|build|vendor|pkg|coverage|\.git|\.bundle)/ | /vendor/ | \.(o|so|a|d|bundle)\z |
      (\A|/)Gemfile\.lock\z
    }x

    INCLUDE = /\A\s*#\s*include\s+"([^"]+)"/ # a line of C; a system's header is in <>
    private_constant :INCLUDE

    attr_reader :root, :files

    def initialize(root)
      @root = root
      @files = (from_git || from_folder).select { |path| File.file?(absolute(path)) }.sort
    end

    # @param globs [Array<String>] File.fnmatch patterns, ** crosses folders
    def matching(*globs)
      files.select do |path|
        globs.any? { |glob| File.fnmatch(glob, path, File::FNM_PATHNAME | File::FNM_EXTGLOB) }
      end
    end

    def absolute(path)
      File.join(root, path)
    end

    def read(path)
      File.read(absolute(path), encoding: Encoding::UTF_8).scrub
    end

    def lines(path)
      read(path).lines
    end

    # @return [Array<Array(Integer, String)>] what a file of C includes of this gem's: the line's
    #   number, the name between the quotes
    def includes(path)
      lines(path).each_with_index.filter_map do |line, index|
        included = line[INCLUDE, 1]
        [index + 1, included] if included
      end
    end

    # @return [Array(String, Boolean)] what a command in the root printed, and whether it succeeded;
    #   a missing command is a failure
    def run(*command)
      output, status = Open3.capture2e(*command, chdir: root)
      [output, status.success?]
    rescue Errno::ENOENT
      program = command.find { |word| word.is_a?(String) }
      ["#{program} is not installed (bin/setup --all installs it)", false]
    end

    private

    def from_git
      return unless File.exist?(File.join(root, ".git"))

      output, status = Open3.capture2("git", "-c", "safe.directory=*", "ls-files", "-z",
                                      "--cached", "--others", "--exclude-standard", chdir: root)
      output.split("\0") if status.success?
    end

    def from_folder
      Dir.glob("**/*", File::FNM_DOTMATCH, base: root).grep_v(PRODUCTS)
    end
  end
end
