# frozen_string_literal: true

require "fileutils"
require "open3"
require "rbconfig"

module NeverBlock
  module Bench
    # How a server is started: command line and environment; and its addresses for administration
    # and for TLS, if it has them.
    Launch = Struct.new(:command, :environment, :admin_url, :tls_url, keyword_init: true)

    # The Ruby that runs every Ruby server: this one, with YJIT if it has it (Debian's 3.3 and 3.4
    # lack it).
    RUBY = [RbConfig.ruby, *("--yjit" if defined?(RubyVM::YJIT)), "-rbundler/setup"].freeze

    # A server that can be measured. Each kind has prepare (installs, or raises), version, settings
    # (for the report), and launch.
    class Server
      # @return [String] as in the tables ("puma 1000")
      attr_reader :name
      # @return [String] the first word of the name, accepted by `--peers` ("puma")
      attr_reader :family
      # @return [String] its settings in words
      attr_reader :settings

      def initialize(name, settings:)
        @name = name
        @family = name.split.first
        @settings = settings
      end

      # @return [Boolean] whether it runs Ruby; then the report tells whether YJIT is on
      def ruby?
        true
      end

      # Prepares the server's start.
      # @yield [String] a slow step, for the progress lines
      # @raise [Error] with the reason why it is skipped
      def prepare
        raise NotImplementedError
      end
    end

    # A Rack server in a bundle of its own, run by this Ruby with YJIT.
    class GemServer < Server
      # Starts a gem's executable inside its bundle, without a second process for `bundle exec`.
      STARTER = "$0 = ARGV[1]; load Gem.bin_path(*ARGV.shift(2))"

      # @param name [String]
      # @param settings [String]
      # @param environment [Hash{String => String}, #call] added to the bundle's own; a callable is
      #   called when a server is started
      # @param gem [String] which has the executable; both are called like the family by default
      # @param arguments [Proc] returns the executable's arguments for a port and a rackup file
      def initialize(name, settings:, environment: {}, bundle: nil, gem: nil, &arguments)
        super(name, settings: settings)
        @gem = gem || family
        @bundle = bundle || Bundle.new(family)
        @environment = environment
        @arguments = arguments
      end

      def prepare(&progress)
        @bundle.install(&progress)
      end

      def version
        @bundle.version(@gem)
      end

      # @param port [Integer]
      # @param app [String] rackup file
      # @return [Launch]
      def launch(port:, app:, **)
        command = [*RUBY, "-e", STARTER, @gem, family, *@arguments.call(port, app)]
        environment = @bundle.environment.merge(Environment.told(@environment))
        Launch.new(command: command, environment: environment)
      end
    end

    # The checkout's own server.
    class NeverBlockServer < Server
      # @param command [String] path of the program below the root
      # @param workers [Integer] 1: one process
      # @param environment [Hash{String => String}, #call] see GemServer
      def initialize(name, settings:, fibers:, workers: 1, command: "exe/neverblock",
                     environment: {}, bundle: nil, root: ROOT)
        super(name, settings: settings)
        @environment = environment
        @workers = workers
        @fibers = fibers
        @root = root
        @command = command
        @bundle = bundle || Bundle.new(family)
      end

      def prepare(&progress)
        raise Error, "exe/neverblock does not exist" unless File.exist?(executable)

        @bundle.install(&progress)
        output, status = run("-rneverblock", "-e", "")
        return if status.success?

        reason = output.strip.lines.first.to_s.strip
        raise Error, "the native part cannot be loaded (#{reason}): bin/setup builds it"
      end

      def version
        run(executable, "--version").first[/\d\S*/]
      end

      def launch(port:, app:, **)
        workers = ["-w", @workers.to_s] if @workers > 1
        command = [*ruby, File.join(@root, @command), app, "-b", "http://127.0.0.1:#{port}",
                   "-f", @fibers.to_s, *workers]
        Launch.new(command: command,
                   environment: @bundle.environment.merge(Environment.told(@environment)))
      end

      private

      def executable
        File.join(@root, "exe/neverblock")
      end

      def ruby
        [*RUBY, "-I", File.join(@root, "lib")]
      end

      def run(*arguments)
        environment = Environment.clean.merge(@bundle.environment)
        Open3.capture2e(environment, *ruby, *arguments, unsetenv_others: true)
      end
    end

    # nginx with a configuration of the repository; by default it answers a constant.
    class NginxServer < Server
      TEMPLATE = "benchmark/peers/nginx/nginx.conf"

      # @param template [String] path below the root
      # @param values [#call, nil] further values of the template; called when the server is started
      def initialize(name, settings:, template: TEMPLATE, values: nil, root: ROOT)
        super(name, settings: settings)
        @template = template
        @values = values
        @root = root
      end

      def ruby?
        false
      end

      def prepare
        return if version

        raise Error, "nginx is not installed: bin/setup --all installs it (package nginx)"
      end

      # Debian has nginx in /usr/sbin, which is not in a user's PATH.
      def version
        Open3.capture2e({ "PATH" => path }, "nginx", "-v").first[%r{nginx/(\S+)}, 1]
      rescue Errno::ENOENT
        nil
      end

      def launch(port:, directory:, **)
        file = File.join(directory, "nginx.conf")
        File.write(file, configuration(port, directory))
        Launch.new(command: ["nginx", "-p", directory, "-c", file, "-e", "stderr"],
                   environment: { "PATH" => path })
      end

      # @return [String] the filled template
      def configuration(port, directory)
        files = Process.getrlimit(Process::RLIMIT_NOFILE).last.to_s
        values = { "port" => port.to_s, "directory" => directory, "files" => files,
                   **(@values ? @values.call : {}) }
        template = File.read(File.join(@root, @template))
        template.gsub(/\{\{(\w+)\}\}/) { values.fetch(Regexp.last_match(1)) }
      end

      private

      def path
        "#{ENV.fetch("PATH", "")}:/usr/sbin:/sbin"
      end
    end
  end
end
