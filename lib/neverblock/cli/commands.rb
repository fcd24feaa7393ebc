# frozen_string_literal: true

# The command `neverblock`: picks the subcommand, and turns every failure into one line on standard
# error and status 1. It loads without the native part, so that --help, --version and error messages
# about the command line work before anything is built.

require "neverblock/version"
require "neverblock/errors"
require "neverblock/errors/backtrace"
require "neverblock/cli/options"
require "neverblock/cli/output"
require "neverblock/config/suggestion"

module NeverBlock
  module CLI
    COMMANDS = %w[serve init check files stop reload upgrade status fibers advise top bench].freeze
    # Those that read variables of the environment themselves.
    READ_ENVIRONMENT = %w[check stop reload upgrade top].freeze
    OK = 0
    FAILED = 1
    INTERRUPTED = 130 # 128 + SIGINT, as shells report it
    # Longest error message in characters; an exception's message may be a whole document.
    LINE_MAX = 2_000
    NO_BENCH = "bench is in the gem neverblock-bench, which is not installed: " \
               "`gem install neverblock-bench` (with Bundler, add it to the Gemfile too); " \
               "in a checkout of NeverBlock run bin/bench"

    module_function

    # @param argv [Array<String>]
    # @param env [Hash, ENV]
    # @param out [IO]
    # @param err [IO]
    # @return [Integer] exit status
    def run(argv, env: ENV, out: $stdout, err: $stderr)
      guard(env: env, err: err) { dispatch(argv.dup, env, out) }
    end

    # Turns every failure of the block into one line and a status.
    # @param env [Hash, ENV] for NB_DEBUG
    # @param err [IO]
    # @yieldreturn [Integer] exit status
    # @return [Integer] exit status
    def guard(env: ENV, err: $stderr)
      yield
    rescue Error => e
      complain(err, e.message, e, env)
    rescue Interrupt
      INTERRUPTED
    rescue SystemExit, SignalException
      raise
    rescue Exception => e # rubocop:disable Lint/RescueException -- NB_DEBUG=1 shows the trace
      place = " at #{e.backtrace.first}" if e.backtrace&.first
      message = "unexpected #{e.class}: #{e.message}#{place}; NB_DEBUG=1 shows the whole trace"
      complain(err, message, e, env)
    end

    def dispatch(argv, env, out)
      check_surroundings(argv)
      argv[0] = "--help" if argv.first == "help"
      command = COMMANDS.include?(argv.first) ? argv.shift : "serve"
      return bench(argv) if command == "bench"
      return subcommand(command, argv, env, out) unless command == "serve"

      name_folder
      options = Options.parse(argv, env)
      case options.action
      when :help then Output.write(out, options.help)
      when :help_config then Output.write(out, Help.sample)
      when :version then Output.write(out, "neverblock #{VERSION}\n")
      else serve(options, env, out)
      end
    end

    def check_surroundings(argv)
      Dir.pwd
      word = argv.find { |text| !text.valid_encoding? } or return

      raise ConfigError, "#{word.dump} on the command line is not valid #{word.encoding}; " \
                         "check LANG"
    rescue Errno::ENOENT
      raise StartError, "the current folder no longer exists; change to another one"
    end

    # Relative paths of the command line start at the folder by that name.
    def name_folder
      require "neverblock/cluster/origin"
      ENV["PWD"] = Cluster::Origin.new.directory
    end

    def serve(options, env, out)
      require "neverblock/cli/serve"
      Serve.new(options, env: env, out: out).run
    end

    def subcommand(name, argv, env, out)
      require "neverblock/cli/#{name}"
      keywords = READ_ENVIRONMENT.include?(name) ? { env: env, out: out } : { out: out }
      const_get(name.capitalize).new(argv, **keywords).run
    end

    # In the gem neverblock-bench.
    def bench(argv)
      begin
        require "neverblock/bench/cli"
      rescue LoadError => e
        raise unless e.path == "neverblock/bench/cli"

        raise Error, NO_BENCH
      end
      status = Bench::CLI.run(argv)
      status.is_a?(Integer) ? status : OK
    end

    def complain(err, message, error, env)
      err.puts("neverblock: #{one_line(message)}")
      err.puts((error.cause || error).full_message(highlight: false)) if debug?(env)
      FAILED
    end

    def one_line(message)
      line = message.to_s.scrub("?").strip.gsub(/\s*\n\s*/, " ").gsub(/[[:cntrl:]]/, "?")
      line.length > LINE_MAX ? "#{line[0, LINE_MAX]}..." : line
    end

    # @param env [Hash, ENV]
    # @return [Boolean] whether NB_DEBUG asks for traces
    def debug?(env)
      Backtrace.whole?(env)
    end

    private_class_method :dispatch, :check_surroundings, :name_folder, :serve, :subcommand, :bench,
                         :complain, :one_line
  end
end
