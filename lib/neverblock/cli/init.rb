# frozen_string_literal: true

# `neverblock init`: writes config/neverblock.rb, from the configuration of another server where
# there is one.

require "fileutils"
require "neverblock/cli/init_options"
require "neverblock/cli/output"
require "neverblock/config/source_error"
require "neverblock/init/document"
require "neverblock/init/sources"

module NeverBlock
  module CLI
    class Init
      include Output

      # @param argv [Array<String>] what follows the command
      # @param out [IO]
      # @param folder [String] the application's
      def initialize(argv, out: $stdout, folder: Dir.pwd)
        @options = InitOptions.new("init", argv)
        @out = out
        @folder = folder
      end

      # @return [Integer] exit status
      # @raise [ConfigError]
      def run
        return show(@options.help_text) if @options.help

        document = NeverBlock::Init::Document.new(sources)
        return show(document.text) if @options.print

        write(document.text)
        show(summary(document))
      end

      private

      def sources
        from = @options.from
        return NeverBlock::Init::Sources.find(@folder) unless from

        [NeverBlock::Init::Sources.read(from, @folder)]
      end

      def write(text)
        path = File.join(@folder, @options.target)
        if File.exist?(path) && !@options.force
          raise ConfigError, "#{@options.target} is there already: --force replaces it, --print " \
                             "shows what would be written"
        end

        FileUtils.mkdir_p(File.dirname(path))
        File.write(path, text)
      rescue SystemCallError => e
        raise ConfigError, "cannot write #{@options.target}: #{SourceError.reason(e)}"
      end

      def summary(document)
        found = { carried: "carried over", needless: "with nothing to write here",
                  missing: "without a counterpart" }
        counts = found.filter_map do |kind, words|
          count = document.entries(kind).size
          "#{count} #{words}" if count.positive?
        end
        ["Wrote #{@options.target}#{": #{counts.join(", ")}" if counts.any?}.",
         *document.entries(:missing).map { |one| missing(one) },
         "Next: read it, then `#{command} check`, then `#{command}`."].join("\n") << "\n"
      end

      def command
        bundled = %w[Gemfile gems.rb].any? { |name| File.exist?(File.join(@folder, name)) }
        bundled ? "bundle exec neverblock" : "neverblock"
      end

      def missing(entry)
        "  #{entry.place}  #{entry.text.lines.first.chomp}: #{entry.translation.note}"
      end
    end
  end
end
