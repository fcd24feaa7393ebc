# frozen_string_literal: true

require "fileutils"
require "open3"
require "rbconfig"

module NeverBlock
  module Bench
    # How a server is started: command line, environment; where it tells of itself, if that is an address of its own.
    Launch = Struct.new(:command, :environment, :admin_url, keyword_init: true)

    # The Ruby that runs every Ruby server: this one, with YJIT where it was built with it (Debian's 3.3 and 3.4 are not).
    RUBY = [RbConfig.ruby, *("--yjit" if defined?(RubyVM::YJIT)), "-rbundler/setup"].freeze

    # A server that can be measured. Each kind answers: prepare (install or raise), version, settings (for the report), launch.
    class Server
      # @return [String] as in the tables ("puma 1000")
      attr_reader :name
      # @return [String] the first word of the name: what `--peers` may say ("puma")
      attr_reader :family
      # @return [String] how it is set, in words
      attr_reader :settings

      def initialize(name, settings:)
        @name = name
        @family = name.split.first
        @settings = settings
      end

      # Whether the server runs Ruby, and so has to prove that YJIT is on.
      def ruby?
        true
      end

      # Makes the server ready to be started.
      # @yield [String] what takes long, for the progress lines
      # @raise [Error] with the reason why it is left out
      def prepare
        raise NotImplementedError
      end
    end

    # A Rack server in a bundle of its own, run by this Ruby with YJIT.
    class GemServer < Server
      # Starts a gem's executable inside its bundle without a second process for `bundle exec`.
      STARTER = "$0 = ARGV[1]; load Gem.bin_path(*ARGV.shift(2))"

      # @param name [String]
      # @param settings [String]
      # @param environment [Hash{String => String}, #call] beside the bundle's own; what has to be started first is called when a server is
      # @param arguments [Proc] given port and rackup file, the arguments of the executable
      def initialize(name, settings:, environment: {}, bundle: nil, &arguments)
        super(name, settings: settings)
        @bundle = bundle || Bundle.new(family)
        @environment = environment
        @arguments = arguments
      end

      def prepare(&progress)
        @bundle.install(&progress)
      end

      def version
        @bundle.version(family)
      end

      # @param port [Integer]
      # @param app [String] rackup file
      # @return [Launch]
      def launch(port:, app:, **)
        command = [*RUBY, "-e", STARTER, family, family, *@arguments.call(port, app)]
        Launch.new(command: command, environment: @bundle.environment.merge(Environment.told(@environment)))
      end
    end

    # The checkout's own server.
    class NeverBlockServer < Server
      # @param command [String] what starts it, below the root
      # @param workers [Integer] 1: one process
      # @param environment [Hash{String => String}, #call] as GemServer's
      def initialize(name, settings:, fibers:, workers: 1, command: "exe/neverblock", environment: {}, bundle: nil, root: ROOT)
        super(name, settings: settings)
        @environment = environment
        @workers = workers
        @fibers = fibers
        @root = root
        @command = command
        @bundle = bundle || Bundle.new(family)
      end

      def prepare(&progress)
        raise Error, "exe/neverblock is not there" unless File.exist?(executable)

        @bundle.install(&progress)
        output, status = run("-rneverblock", "-e", "")
        return if status.success?

        raise Error, "the native part does not load (#{output.strip.lines.first.to_s.strip}): bin/setup builds it"
      end

      def version
        run(executable, "--version").first[/\d\S*/]
      end

      def launch(port:, app:, **)
        Launch.new(command: [*ruby, File.join(@root, @command), app, "-b", "http://127.0.0.1:#{port}", "-f", @fibers.to_s, *(["-w", @workers.to_s] if @workers > 1)],
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

    # nginx from a committed configuration; by default it answers a constant.
    class NginxServer < Server
      TEMPLATE = "benchmark/peers/nginx/nginx.conf"

      # @param template [String] below the root
      # @param values [#call, nil] what the template names beside port, directory and files; asked when the server is started
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
        raise Error, "nginx is not installed: bin/setup --all installs it (package nginx)" unless version
      end

      # Debian keeps it in /usr/sbin, which a plain user's PATH lacks.
      def version
        Open3.capture2e({ "PATH" => path }, "nginx", "-v").first[%r{nginx/(\S+)}, 1]
      rescue Errno::ENOENT
        nil
      end

      def launch(port:, directory:, **)
        file = File.join(directory, "nginx.conf")
        File.write(file, configuration(port, directory))
        Launch.new(command: ["nginx", "-p", directory, "-c", file, "-e", "stderr"], environment: { "PATH" => path })
      end

      # @return [String] the template filled in
      def configuration(port, directory)
        values = { "port" => port.to_s, "directory" => directory,
                   "files" => Process.getrlimit(Process::RLIMIT_NOFILE).last.to_s, **(@values ? @values.call : {}) }
        File.read(File.join(@root, @template)).gsub(/\{\{(\w+)\}\}/) { values.fetch(Regexp.last_match(1)) }
      end

      private

      def path
        "#{ENV.fetch("PATH", "")}:/usr/sbin:/sbin"
      end
    end
  end
end
