# frozen_string_literal: true

# The command line of `neverblock check`: that of `neverblock serve`, so that what is looked at is what would run, and a few words of its own.

require "neverblock/check/run"
require "neverblock/cli/options"

module NeverBlock
  module CLI
    class CheckOptions < Options
      HELP = <<~TEXT
        Usage: neverblock check [config.ru] [options]

        Loads the application, and nothing else: in a process of its own, without a server. Says what of it, of its gems, of
        the settings and of this machine will stop requests, mix them up or waste time, the worst first, each with the
        mend and a page that says more. Ends with 1 when anything serious was found.

            --probe[=PATHS]       asks the application for these paths as well, a comma between (default: a Rails
                                  application's GET routes without parameters, or /), and tells what a request leaves
                                  in thread variables, classes and globals, which all requests of a process share.
                                  Each path is asked for a few times, by GET
            --json                the findings as one JSON object
            --patience SECONDS    how long loading may take without an end; default #{NeverBlock::Check::Run::SILENCE_S}
        -h, --help                show this

        All options of neverblock serve are taken: -C FILE, -e NAME, -w N and -f N change what is found.
        NB_DEBUG=1 shows what the application writes while it is loaded.

        Examples:
            bundle exec neverblock check
            bundle exec neverblock check -e production -w auto --probe
            neverblock check app.ru --json
            neverblock check --probe=/,/reports/today

        Guide: docs/guides/check.md
      TEXT

      # @return [Boolean]
      attr_reader :json
      # @return [Array<String>, nil] paths; empty: what the routes say; nil: none
      attr_reader :probe
      # @return [Float] seconds
      attr_reader :silence_s

      def initialize(env)
        @silence_s = NeverBlock::Check::Run::SILENCE_S
        super
      end

      # @return [String]
      def help
        HELP
      end

      private

      def add_actions
        super
        option("--json") { @json = true }
        option("--patience SECONDS") { |text| @silence_s = seconds(text) }
        @arguments["--probe"] = nil # "--probe PATH" would take the rackup file
        @parser.on("--probe=[PATHS]") { |text| @probe = paths(text) }
      end

      def seconds(text)
        number = Float(text, exception: false)
        return number if number&.positive? && number.finite?

        raise ConfigError, "--patience takes a number of seconds over 0, seen #{text}"
      end

      def paths(text)
        found = text.to_s.split(",").map(&:strip).reject(&:empty?)
        wrong = found.find { |path| !path.match?(%r{\A/[!-~]*\z}) }
        raise ConfigError, "--probe takes paths that begin with a slash, such as --probe=/,/reports; seen #{wrong}" if wrong

        found
      end

      # "--probe /reports" was meant for the probe: a rackup file is a file.
      def rackup_of(words)
        stray = words.find { |word| word.start_with?("/") && !File.file?(word) }
        raise ConfigError, "--probe takes its paths behind an equals sign: --probe=#{stray}" if @probe&.empty? && stray

        super
      end

      # What unknown names are compared with.
      def refuse_unknown(name)
        own = %w[--json --probe --patience --help]
        hint = Suggestion.for(name, own)
        return super if hint.to_s.empty?

        raise ConfigError, "unknown option #{name}#{hint} (neverblock check --help)"
      end
    end
  end
end
