# frozen_string_literal: true

# What the interface names and this version does not do yet: each is recognised, says so in one line with what helps meanwhile, and refuses.
# A step that brings one takes its row out of here.

require "neverblock/errors"

module NeverBlock
  module CLI
    module NotYet
      # Flags as OptionParser takes them, and what helps meanwhile.
      Option = Struct.new(:flags, :meanwhile) do
        def name
          flags.last[/--[\w-]+/]
        end
      end

      OPTIONS = [
        Option.new(["-C", "--config FILE"], "give the options on the command line"),
        Option.new(["--public DIR"], "serve files from the application (Rack::Static) or from a server in front"),
        Option.new(["--sendfile-root DIR"], "answer with a body that responds to to_path"),
        Option.new(["--algorithm NAME"], "files are sent by the one simple sender there is"),
        Option.new(["--admin URL"], "serve health checks from the application"),
        Option.new(["--log-requests"], "use Rack::CommonLogger in the rackup file"),
        Option.new(["--pidfile FILE"], "start it under a supervisor that keeps the process id, such as systemd")
      ].freeze

      COMMANDS = {
        "check" => nil,
        "status" => nil,
        "top" => nil,
        "stop" => "send TERM to the process instead",
        "reload" => "start it again instead",
        "upgrade" => "start it again instead",
        "files" => "serve a rackup file with Rack::Files instead"
      }.freeze

      DEFAULT_CONFIG_FILE = "config/neverblock.rb"

      module_function

      # @param word [String, nil] the first word of the command line
      # @raise [NotYetError]
      def check_command(word)
        return unless COMMANDS.key?(word)

        meanwhile = COMMANDS[word]
        raise NotYetError, "the command #{word} does not work yet#{"; #{meanwhile}" if meanwhile}"
      end

      # @raise [NotYetError] always
      def refuse(what, meanwhile)
        raise NotYetError, "#{what} does not work yet; #{meanwhile}"
      end

      # A file somebody wrote must not be passed over in silence.
      # @param directory [String]
      # @raise [NotYetError]
      def check_config_file(directory = Dir.pwd)
        return unless File.exist?(File.join(directory, DEFAULT_CONFIG_FILE))

        refuse("reading #{DEFAULT_CONFIG_FILE}", "move it away and give options on the command line")
      end
    end
  end
end
