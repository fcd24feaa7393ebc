# frozen_string_literal: true

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

    def violations(tree)
      return [] unless tree.files.include?("test/c/Makefile")

      %w[gcc clang].flat_map do |compiler|
        output, success = tree.run(
          "make", "-C", "test/c", "--no-print-directory", "-j2", "-k", "lib", "SAN=none",
          "WERROR=1", "CC=#{compiler}", "BUILD=#{tree.absolute("build/check/#{compiler}")}"
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

    def violations(tree)
      files = tree.matching("ext/neverblock/binding/**/*.c")
      files.empty? ? [] : %w[gcc clang].flat_map { |compiler| with(compiler, files, tree) }
    end

    private

    def with(compiler, files, tree)
      files.flat_map do |file|
        output, success = tree.run(compiler, *FLAGS, *probed(tree), *includes, file)
        success ? [] : Warnings.in(output, tree, compiler)
      end
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
