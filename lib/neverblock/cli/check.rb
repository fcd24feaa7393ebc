# frozen_string_literal: true

# `neverblock check`: reports what in this application will block or break requests.

require "neverblock/boot/application"
require "neverblock/check"
require "neverblock/cli/check_options"
require "neverblock/cli/output"
require "neverblock/config/directory"
require "neverblock/config/environment"

module NeverBlock
  module CLI
    class Check
      include Output

      # @param argv [Array<String>] what follows the command
      # @param env [Hash, ENV]
      # @param out [IO]
      def initialize(argv, env: ENV, out: $stdout)
        @options = CheckOptions.parse(argv, env)
        @env = env
        @out = out
      end

      # @return [Integer] exit status: 1 when a finding is serious
      # @raise [ConfigError] of the command line, the environment or the configuration file
      def run
        case @options.action
        when :help then return show(@options.help)
        when :help_config then return show(Help.sample)
        when :version then return show("neverblock #{VERSION}\n")
        end
        look
      end

      private

      def look
        settings = @options.settings
        settings.config
        Config::Directory.enter(settings[:directory])
        name = environment_name(settings)
        run = run_check(settings)
        report = NeverBlock::Check::Report.new(
          run, rackup: @options.rackup || Application::DEFAULT_FILE, environment: name
        )
        show(@options.json ? report.json : report.text)
        run.serious? ? FAILED : OK
      end

      def environment_name(settings)
        on_command_line = settings.on_command_line(:environment)
        Config::Environment.new(@env).apply_name(on_command_line, settings.in_file(:environment))
      end

      def run_check(settings)
        NeverBlock::Check.run(settings, rackup: @options.rackup, probe: @options.probe,
                                        verbose: CLI.debug?(@env), silence_s: @options.silence_s)
      end
    end
  end
end
