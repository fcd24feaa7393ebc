# frozen_string_literal: true

# What `rackup -s neverblock` and `rails server -u neverblock` call: the options of rackup become settings as those of the command line, the configuration file
# and the environment count as ever, and the server runs as this process. The same for Rack 2 (Rack::Handler) and Rack 3 (Rackup::Handler).

require "neverblock/boot/launch"
require "neverblock/cli/commands"
require "neverblock/config/settings"
require "neverblock/config/user_file"
require "neverblock/config/suggestion"

module NeverBlock
  class RackHandler
    # rackup's own `config` is the rackup file.
    CONFIGURATION = "configuration"
    # What rackup fills in when nobody says otherwise: a configuration file's bind goes before it.
    RACKUP_PORT = 9_292
    RACKUP_HOSTS = [nil, "localhost", "0.0.0.0"].freeze
    # Options that rackup and Rails have for themselves and pass on.
    FOREIGN = %w[accesslog app builder caching config daemonize debug environment eval heapfile host include log_stdout log_to_stdout name path pid port
                 profile_file profile_mode quiet require restart_cmd server silent user_supplied_options using verbose warn].freeze

    # What rackup and Rack 2 ask of a handler module.
    module Face
      # See RackHandler.run.
      def run(app, **options, &block)
        RackHandler.run(app, options, &block)
      end

      # @return [Hash{String => String}] what -O takes
      def valid_options
        RackHandler.valid_options
      end
    end

    class << self
      # @return [Boolean, nil] whether it goes before other servers of the bundle when none is named
      attr_accessor :first_choice

      # Serves until told to stop; then returns, or ends the process with status 1 after one line on standard error when the start or the end failed.
      # @param app [#call]
      # @param options [Hash] Host, Port, and what valid_options names
      # @yieldparam launch [Boot::Launch] before it serves
      # @return [void]
      def run(app, options = {}, &block)
        new(options).run(app, &block)
      end

      # @return [Hash{String => String}] for `rackup -s neverblock --help`
      def valid_options
        rows.reject { |_, row| row.later }.to_h { |name, row| ["#{name}#{"=#{row.argument || "VALUE"}" unless row.type.is_a?(Config::Type::Flag)}", row.help] }
      end

      # @return [Hash{String => Config::Option}] by the names that -O takes
      def rows
        @rows ||= Config::Catalog::OPTIONS.reject { |row| %i[port host environment route].include?(row.key) || row.type.is_a?(Config::Type::Block) }
                                          .to_h { |row| [row.key == :config ? CONFIGURATION : row.key.to_s, row] }.freeze
      end
    end

    # @param options [Hash] of rackup
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

    # @return [Config::Settings]
    # @raise [ConfigError]
    def settings
      given = own
      file = Config::UserFile.read(given[:config])
      given = address.merge(given) if !given.key?(:bind) && (address_chosen? || !(file.key?(:bind) || environment.binds))
      Config::Settings.new(command: given, environment: environment, file: { environment: @options[:environment] }.compact.merge(file))
    end

    # @return [Array<String>] one line for each option that is near one of ours and is none
    def warnings
      strange = @options.keys.map(&:to_s) - self.class.rows.keys
      strange.reject { |name| FOREIGN.include?(name.downcase) }.filter_map do |name|
        hint = Suggestion.for(name.downcase.tr("-", "_"), self.class.rows.keys)
        "unknown option #{name}#{hint}" unless hint.empty?
      end
    end

    private

    # `rails server` says how.
    def again
      command = @options[:restart_cmd]
      command && -> { ::Process.exec(command) }
    end

    def environment
      @environment ||= Config::Environment.new(@env)
    end

    def own
      @options.each_with_object({}) do |(key, value), given|
        row = self.class.rows[key.to_s]
        next if row.nil? || value.nil? # Rails passes what was not said as nil

        given[row.key] = row.repeat ? value.to_s.split.map { |text| row.read(text, "-O #{key}") } : row.read(value, "-O #{key}")
      end
    end

    def address
      port = @options[:Port] && Config::Catalog[:port].read(@options[:Port], "Port")
      host = @options[:Host] && Config::Catalog[:host].read(@options[:Host], "Host")
      { port: port, host: host }.compact
    end

    # Rails says what its user gave. rackup does not: what differs from its defaults was given.
    def address_chosen?
      supplied = @options[:user_supplied_options]
      return supplied.any? { |name| %i[Host Port].include?(name) } if supplied

      !RACKUP_HOSTS.include?(@options[:Host]) || (@options[:Port] || RACKUP_PORT).to_i != RACKUP_PORT
    end
  end
end
