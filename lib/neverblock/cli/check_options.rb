# frozen_string_literal: true

# The command line of `neverblock check`: all options of `neverblock serve`, so that the check sees
# what would run, and a few of its own.

require "neverblock/check/run"
require "neverblock/cli/options"

module NeverBlock
  module CLI
    class CheckOptions < Options
      # Seconds; a day is more than any application takes.
      PATIENCE = (0..86_400).freeze

      HELP = <<~TEXT
        Usage: neverblock check [config.ru] [options]

        Loads the application in a process of its own, without a server. Reports what in the
        application, its gems, the settings and this machine will block requests, mix them up or
        waste time. The worst comes first. Each finding names a fix and a page that explains it.
        The exit status is 1 when a finding is serious.

            --probe[=PATHS]     also send GET requests to these paths, separated by commas
                                (default: a Rails application's GET routes without parameters,
                                or /), a few times each. Reports what a request leaves behind
                                in classes and globals, which all requests of a process share
            --json              print the findings as one JSON object
            --patience SECONDS  how long loading may go on without progress;
                                default #{NeverBlock::Check::Run::SILENCE_S}
        -h, --help              show this help

        All options of neverblock serve work too: -C FILE, -e NAME, -w N and -f N change what is
        found. NB_DEBUG=1 shows the application's output while it loads.

        Examples:
            bundle exec neverblock check
            bundle exec neverblock check -e production -w auto --probe
            neverblock check app.ru --json
            neverblock check --probe=/,/reports/today

        Guide: docs/guides/check.md
      TEXT

      # @return [Boolean]
      attr_reader :json
      # @return [Array<String>, nil] paths; empty: those of the application's routes; nil: no probe
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
        @arguments["--probe"] = nil # without this, "--probe PATH" would take the rackup file
        @parser.on("--probe=[PATHS]") { |text| @probe = paths(text) }
      end

      def seconds(text)
        number = Float(text, exception: false)
        return number if number&.positive? && PATIENCE.cover?(number)

        raise ConfigError, "--patience must be a number of seconds above 0, at most " \
                           "#{PATIENCE.end}; got #{text.inspect}"
      end

      def paths(text)
        found = text.to_s.split(",").map(&:strip).reject(&:empty?)
        wrong = found.find { |path| !path.match?(%r{\A/[!-~]*\z}) }
        return found unless wrong

        raise ConfigError, "--probe takes paths that begin with a slash, such as " \
                           "--probe=/,/reports; got #{wrong}"
      end

      # "--probe /reports" is a path of the probe and no rackup file.
      def rackup_of(words)
        stray = words.find { |word| word.start_with?("/") && !File.file?(word) }
        if @probe&.empty? && stray
          raise ConfigError, "--probe takes its paths after an equals sign: --probe=#{stray}"
        end

        super
      end

      # Looks for a similar option of this command first.
      def refuse_unknown(name)
        own = %w[--json --probe --patience --help]
        hint = Suggestion.for(name, own)
        return super if hint.to_s.empty?

        raise ConfigError, "unknown option #{name}#{hint} (neverblock check --help)"
      end
    end
  end
end
