# frozen_string_literal: true

# What `rackup -s neverblock` and `rails server -u neverblock` call. rackup's options become
# settings, as those of the command line do; the configuration file and the environment count too.
# The server runs in this process. It is the same for Rack 2 (Rack::Handler) and Rack 3
# (Rackup::Handler).

require "neverblock/boot/again"
require "neverblock/boot/launch"
require "neverblock/cli/commands"
require "neverblock/config/settings"
require "neverblock/config/user_file"
require "neverblock/config/suggestion"

module NeverBlock
  class RackHandler
    # The option for our configuration file. rackup's own `config` is the rackup file.
    CONFIGURATION = "configuration"
    # Defaults of rackup. With them, the bind of a configuration file has precedence.
    RACKUP_PORT = 9_292
    RACKUP_HOSTS = [nil, "localhost", "0.0.0.0"].freeze
    # Options of rackup and Rails themselves, which they pass on.
    FOREIGN = %w[
      accesslog app builder caching config daemonize debug donotreverselookup early_hints
      environment eval heapfile help host include log_stdout log_to_stdout name path pid port
      profile_file profile_mode quiet require restart_cmd server silent user_supplied_options using
      verbose version warn
    ].freeze
    # Options of ours that rackup has by other names, or that a handler cannot take.
    LEFT_OUT = %i[port host environment route].freeze
    private_constant :LEFT_OUT

    # What rackup and Rack 2 require of a handler module.
    module Face
      # See RackHandler.run.
      def run(app, **options, &block)
        RackHandler.run(app, options, &block)
      end

      # @return [Hash{String => String}] the options that -O takes
      def valid_options
        RackHandler.valid_options
      end
    end

    class << self
      # @return [Boolean, nil] whether it has precedence over other servers of the bundle when none
      #   is named
      attr_accessor :first_choice

      # Serves until told to stop. Then it returns. When the start or the end failed, it ends the
      # process with status 1 after one line on standard error.
      # @param app [#call]
      # @param options [Hash] Host, Port, and the names of valid_options
      # @yieldparam launch [Boot::Launch] before it serves
      # @return [void]
      def run(app, options = {}, &block)
        new(options).run(app, &block)
      end

      # @return [Hash{String => String}] for `rackup -s neverblock --help`
      def valid_options
        rows.reject { |_, row| row.later }.to_h { |name, row| [usage(name, row), row.help] }
      end

      # @return [Hash{String => Config::Option}] by the names that -O takes
      def rows
        @rows ||= Config::Catalog::OPTIONS.select { |row| takes?(row) }
                                          .to_h { |row| [name_of(row), row] }.freeze
      end

      private

      def takes?(row)
        !LEFT_OUT.include?(row.key) && !row.type.is_a?(Config::Type::Block)
      end

      def name_of(row)
        row.key == :config ? CONFIGURATION : row.key.to_s
      end

      def usage(name, row)
        row.type.is_a?(Config::Type::Flag) ? name : "#{name}=#{row.argument || "VALUE"}"
      end
    end

    # @param options [Hash] rackup's
    # @param env [Hash, ENV]
    # @param out [IO]
    # @param err [IO]
    def initialize(options, env: ENV, out: $stdout, err: $stderr)
      @options = options
      @env = env
      @out = out
      @err = err
    end

    # @param app [#call]
    # @return [void]
    def run(app)
      status = CLI.guard(env: @env, err: @err) do
        launch = Boot::Launch.new(settings, environment, out: @out, again: again)
        yield launch if block_given?
        launch.run(warnings: warnings) { app }
      end
      exit(status) unless status == CLI::OK
    end

    # What the options, the environment and the configuration file say together.
    # @return [Config::Settings]
    # @raise [ConfigError]
    def settings
      given = own
      file = Config::UserFile.read(given[:config])
      given = address.merge(given) if !given.key?(:bind) && address_counts?(file)
      file = { environment: @options[:environment] }.compact.merge(file)
      Config::Settings.new(command: given, environment: environment, file: file)
    end

    # @return [Array<String>] one line for each unknown option, and one for a `directory` that is
    #   not followed
    def warnings
      [*unknown, *elsewhere]
    end

    private

    # Whoever calls a handler may give it options of other servers, so they are no error.
    def unknown
      strange = @options.keys.map(&:to_s) - self.class.rows.keys
      strange.reject { |name| FOREIGN.include?(name.downcase) }.map do |name|
        hint = Suggestion.for(name.downcase.tr("-", "_"), self.class.rows.keys)
        hint = " (`rackup -s neverblock --help` lists all options)" if hint.empty?
        "unknown option #{name} is not followed#{hint}"
      end
    end

    def elsewhere
      folder = settings[:directory]
      return [] if folder.nil? || (File.directory?(folder) && File.identical?(folder, "."))

      ["directory #{folder.inspect} is not followed: the application was loaded in #{Dir.pwd}; " \
       "start rackup or rails server there, or start with `neverblock`"]
    end

    # `rails server` tells the command that restarts it.
    def again
      command = @options[:restart_cmd]
      Boot::Again::ByCommand.new(command) if command
    end

    def environment
      @environment ||= Config::Environment.new(@env)
    end

    def own
      @options.each_with_object({}) do |(key, value), given|
        row = self.class.rows[key.to_s]
        next if row.nil? || value.nil? # Rails passes nil for what was not given

        given[row.key] = read(row, key, value)
      end
    end

    def read(row, key, value)
      return row.read(value, "-O #{key}") unless row.repeat

      value.to_s.split.map { |text| row.read(text, "-O #{key}") }
    end

    def address
      port = @options[:Port] && Config::Catalog[:port].read(@options[:Port], "Port")
      host = @options[:Host] && Config::Catalog[:host].read(@options[:Host], "Host")
      { port: port, host: host }.compact
    end

    def address_counts?(file)
      address_chosen? || !(file.key?(:bind) || environment.binds)
    end

    # Rails tells what its user gave. rackup does not: values other than its defaults were given.
    def address_chosen?
      supplied = @options[:user_supplied_options]
      return supplied.any? { |name| %i[Host Port].include?(name) } if supplied

      return true unless RACKUP_HOSTS.include?(@options[:Host])

      (@options[:Port] || RACKUP_PORT).to_i != RACKUP_PORT
    end
  end
end
