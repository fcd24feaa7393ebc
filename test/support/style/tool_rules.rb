# frozen_string_literal: true

require "digest"
require "etc"
require "fileutils"
require "rbconfig"
require "shellwords"

module Style
  # clang-format 14 and the file at the root decide the layout of C.
  class ClangFormat
    ABOUT = "C is laid out as clang-format 14 does it"

    def violations(tree)
      files = sources(tree)
      return [] if files.empty?

      output, success = tree.run(tool, "--dry-run", "-Werror", *files)
      return [] if success

      breaches = output.scan(/^(.+?):(\d+):\d+: error: (.*)$/).map do |path, line, message|
        Violation.new(path, line, message)
      end
      return breaches.uniq(&:path) unless breaches.empty?

      [Violation.new("clang-format", nil, output.lines.first.to_s.chomp)]
    end

    def fix(tree)
      files = sources(tree)
      tree.run(tool, "-i", *files) unless files.empty?
    end

    private

    def sources(tree)
      tree.matching("ext/**/*.{c,h}", "test/c/**/*.{c,h}", "benchmark/**/*.{c,h}")
    end

    # Other versions lay out differently, so only 14 will do.
    def tool
      @tool ||= %w[clang-format-14 clang-format].find { |name| version(name) == "14" } ||
                "clang-format-14"
    end

    def version(name)
      IO.popen([name, "--version"], err: File::NULL, &:read)[/version (\d+)/, 1]
    rescue Errno::ENOENT
      nil
    end
  end

  # RuboCop with the small set of .rubocop.yml.
  class RuboCop
    ABOUT = "Ruby keeps the small set of .rubocop.yml"

    def violations(tree)
      output, success = tree.run(*command, "--format", "emacs", "--no-color")
      return [] if success

      breaches = output.scan(/^(.+?):(\d+):\d+: (.*)$/).map do |path, line, message|
        Violation.new(path.delete_prefix("#{tree.root}/"), line, message)
      end
      breaches.empty? ? [Violation.new("rubocop", nil, output[0, 500])] : breaches
    end

    def fix(tree)
      tree.run(*command, "--autocorrect")
    end

    private

    def command
      [RbConfig.ruby, "-S", "rubocop", "--force-exclusion", "--display-cop-names"]
    end
  end

  # The core under both compilers, every warning an error. The folder of products is the Makefile's
  # own.
  class CoreWarnings
    ABOUT = "the core compiles without a warning under gcc and clang"
    # Some warnings of gcc come from its optimizer (gcc(1), -Wmaybe-uninitialized); clang's do not.
    COMPILERS = { "gcc" => "-O2", "clang" => "-O0" }.freeze

    def violations(tree)
      return [] unless tree.files.include?("test/c/Makefile")

      COMPILERS.flat_map do |compiler, level|
        output, success = tree.run(
          "make", "-C", "test/c", "--no-print-directory", "-j2", "-k", "lib", "SAN=none",
          "WERROR=1", "CC=#{compiler}", "OPT=#{level}",
          "BUILD=#{tree.absolute("build/check/#{compiler}")}"
        )
        success ? [] : Warnings.in(output, tree, compiler)
      end
    end
  end

  # The binding under the core's warnings, with Ruby's own headers taken for the system's.
  class BindingWarnings
    ABOUT = "the binding compiles without a warning under gcc and clang"
    FLAGS = %w[
      -std=c11 -D_GNU_SOURCE -O1 -fsyntax-only -Wall -Wextra -Wpedantic -Wshadow -Wconversion
      -Wno-unused-parameter -Wno-unknown-warning-option -Wno-string-conversion -Werror
    ].freeze

    # Compiles as many files at once as there are processors.
    def violations(tree)
      files = tree.matching("ext/neverblock/binding/**/*.c")
      return [] if files.empty?

      passed = Passed.new(tree.absolute("build/check/binding-passed"), "ext/**/*.h", tree)
      jobs = Queue.new
      %w[gcc clang].product(files).each { |job| jobs << job }
      jobs.close
      workers = Array.new(Etc.nprocessors) { Thread.new { compile_all(jobs, passed, tree) } }
      found = workers.flat_map(&:value)
      passed.save
      found.sort_by { |violation| [violation.path, violation.line.to_i] }
    end

    private

    def compile_all(jobs, passed, tree)
      found = []
      while (compiler, file = jobs.pop)
        command = [compiler, *FLAGS, *probed(tree), *includes, file]
        found.concat(passed.unless_known(command, file) { compile(command, tree) })
      end
      found
    end

    def compile(command, tree)
      output, success = tree.run(*command)
      success ? [] : Warnings.in(output, tree, command.first)
    end

    def includes
      config = RbConfig::CONFIG
      ruby = [config["rubyhdrdir"], config["rubyarchhdrdir"]]
      ruby.flat_map { |folder| ["-isystem", folder] } + %w[-Iext/neverblock -Iext/neverblock/core]
    end

    # What extconf.rb found for this Ruby.
    def probed(tree)
      makefile = tree.absolute("build/ext-#{RUBY_VERSION}-#{RUBY_PLATFORM}/Makefile")
      return [] unless File.exist?(makefile)

      File.read(makefile)[/^CPPFLAGS = (.*)$/, 1].to_s.shellsplit.grep(/\A-DHAVE_/)
    end
  end

  # Remembers which files have passed a command. It runs again when the command, the file or any
  # header has changed.
  class Passed
    # @param path [String] of the file that remembers
    # @param headers [String] the pattern of what each of the files may include
    def initialize(path, headers, tree)
      @path = path
      @tree = tree
      @known = File.exist?(path) ? File.readlines(path, chomp: true) : []
      @passed = Queue.new
      @versions = Hash.new { |all, tool| all[tool] = tree.run(tool, "--version").first }
      @headers = digest(tree.matching(headers).flat_map { |name| [name, tree.read(name)] })
      @lock = Mutex.new
    end

    # @param command [Array<String>] the program first
    # @param file [String] which it looks at
    # @yieldreturn [Array<Violation>] what it finds
    # @return [Array<Violation>]
    def unless_known(command, file)
      version = @lock.synchronize { @versions[command.first] }
      key = digest([version, @headers, @tree.read(file), *command])
      found = @known.include?(key) ? [] : yield
      @passed << key if found.empty?
      found
    end

    # @return [void]
    def save
      FileUtils.mkdir_p(File.dirname(@path))
      File.write(@path, Array.new(@passed.size) { "#{@passed.pop}\n" }.join)
    end

    private

    def digest(parts)
      Digest::SHA256.hexdigest(parts.join("\0"))
    end
  end

  # Reads a compiler's complaints.
  module Warnings
    def self.in(output, tree, compiler)
      complaint = /^(.+?):(\d+):\d+: (?:fatal )?(?:error|warning): (.*)$/
      found = output.scan(complaint).map do |path, line, message|
        Violation.new(path.delete_prefix("#{tree.root}/"), line, "#{compiler}: #{message}")
      end
      found.empty? ? [Violation.new(compiler, nil, output.lines.last.to_s.chomp)] : found
    end
  end

  # The signatures are well-formed and name only types that exist.
  class Signatures
    ABOUT = "sig/ and bench/sig/ pass rbs validate"
    FOLDERS = %w[sig bench/sig].freeze

    def violations(tree)
      folders = FOLDERS.reject { |folder| tree.matching("#{folder}/**/*.rbs").empty? }
      return [] if folders.empty?

      roots = folders.flat_map { |folder| ["-I", folder] }
      output, success = tree.run(RbConfig.ruby, "-S", "rbs", *roots, "validate")
      return [] if success

      plain = output.gsub(/\e\[[\d;]*m/, "").strip
      [Violation.new("sig", nil, plain.lines.last(6).join.strip)]
    end
  end

  # Shell scripts pass shellcheck.
  class ShellCheck
    ABOUT = "shell scripts pass shellcheck"

    def violations(tree)
      scripts = tree.matching("bin/*", ".ci/*", "**/*.sh").select do |path|
        tree.lines(path).first.to_s.match?(/\A#!.*\b(sh|bash)$/)
      end
      return [] if scripts.empty?

      output, success = tree.run("shellcheck", "--format=gcc", *scripts)
      return [] if success

      breaches = output.scan(/^(.+?):(\d+):\d+: (.*)$/).map do |path, line, message|
        Violation.new(path, line, message)
      end
      breaches.empty? ? [Violation.new("shellcheck", nil, output[0, 500])] : breaches
    end
  end
end
