# frozen_string_literal: true

# How this command was started, so that it can be started again as a mold: Ruby's own options, the words, the environment before anything changed it, and the
# folder by the name its user gave it. (Deployments swap the link `current`; the folder it led to then is last week's release.) That name is told by PWD, by the rackup
# file of the command line, by the setting `directory`, or by a link beside the releases that leads here, as Capistrano makes it.

require "neverblock/boot/stacks"
require "neverblock/version"
require "rbconfig"

module NeverBlock
  module Cluster
    class Origin
      # The variable that makes `neverblock` a mold: the number of its control descriptor, and the version that started it.
      VARIABLE = "NEVERBLOCK_MOLD"
      # What makes Ruby set Bundler up before any other code: RUBYOPT, and a variable of RubyGems 3.5 and later. A mold has neither, but under other names: it does
      # that itself, so that it can say what is wrong with a Gemfile.
      SET_ASIDE = { "RUBYOPT" => "NEVERBLOCK_RUBYOPT", "BUNDLER_SETUP" => "NEVERBLOCK_BUNDLER_SETUP" }.freeze
      BUNDLER = %r{(\A|\s)-r\s*(\S*bundler/setup)(?=\s|\z)}.freeze
      EXECUTABLE = File.expand_path("../../../exe/neverblock", __dir__)

      # Links that deployments swap.
      CURRENT = "current"

      # @return [String] the folder, by the name it was given
      attr_reader :directory

      # @param rackup [String, nil] the rackup file as the command line has it
      # @param words [Array<String>] of the command
      # @param environment [Hash{String => String}]
      # @param here [String] the folder, without links
      # @param command [Array<String>, nil] the whole command line of this process; nil: unknown
      # @param program [String] $0
      def initialize(rackup: nil, words: ARGV, environment: ENV.to_h, here: Dir.pwd, command: Origin.command_line, program: $PROGRAM_NAME)
        @words = words.map(&:dup).freeze
        @environment = environment.to_h.freeze
        @here = here
        @names = {}
        [rackup && File.dirname(File.expand_path(rackup, here)), environment["PWD"], *links].each { |name| follow(name) }
        @directory = moved(here)
        @flags = ruby_flags(command, program)
      end

      # From now on a folder has this name, which may lead elsewhere later.
      # @param name [String, nil]
      # @return [void]
      def follow(name)
        return unless name.to_s.start_with?("/") && File.directory?(name)

        @names[File.realpath(name)] ||= name == "/" ? name : name.chomp("/")
      rescue SystemCallError
        nil
      end

      # @return [Array<String>, nil]
      def self.command_line
        File.binread("/proc/self/cmdline").split("\0").map { |word| word.force_encoding(Encoding.default_external) }
      rescue SystemCallError
        nil
      end

      # Starts a mold.
      # @param control [IO] its end of the control socket
      # @return [Integer] process id
      # @raise [SystemCallError]
      def spawn(control)
        ::Process.spawn(variables(control.fileno), RbConfig.ruby, *@flags, moved(EXECUTABLE), *@words,
                        unsetenv_others: true, close_others: true, chdir: directory, control.fileno => control.fileno)
      end

      # Makes this process the command anew. Never returns.
      # @param further [Hash{String => String}] variables of its environment
      # @raise [SystemCallError]
      def start_again(further = {})
        ::Process.exec({ **@environment, **further }, RbConfig.ruby, *@flags, moved(EXECUTABLE), *@words, unsetenv_others: true, chdir: directory)
      end

      # @param fd [Integer]
      # @return [Hash{String => String}] the environment of a mold
      def variables(fd)
        env = @environment.merge(Boot::Stacks.variables(@environment), VARIABLE => "#{fd}:#{VERSION}", "PWD" => directory)
        env["BUNDLE_GEMFILE"] = moved(env["BUNDLE_GEMFILE"]) if env["BUNDLE_GEMFILE"]
        bundled?(env) ? set_aside(env) : env
      end

      private

      def bundled?(env)
        env["BUNDLER_SETUP"] || env["RUBYOPT"]&.match?(BUNDLER)
      end

      def set_aside(env)
        env = env.merge(SET_ASIDE.to_h { |name, other| [other, env[name]] }.compact)
        env.delete("BUNDLER_SETUP")
        env["RUBYOPT"] = env["RUBYOPT"].gsub(BUNDLER, "") if env["RUBYOPT"]
        env
      end

      # /srv/app/current beside /srv/app/releases/20261127, or in the folder above.
      def links
        [File.dirname(@here, 2), File.dirname(@here)].map { |folder| File.join(folder, CURRENT) }.select { |name| File.symlink?(name) && File.identical?(name, @here) }
      end

      # A path in one of the folders, by the folder's given name: after the link was swapped it is the new release's.
      def moved(path)
        real, name = @names.find { |folder, given| folder != given && "#{path}/".start_with?("#{folder}/") }
        real ? File.join(name, path.delete_prefix(real)).chomp("/") : path
      end

      # What stands between `ruby` and the program, where it was started as `ruby ... program words`.
      def ruby_flags(command, program)
        return compiler if command.nil? || command.last(@words.size) != @words

        *flags, script = command[1...(command.size - @words.size)]
        return compiler unless flags.empty? || flags.first.start_with?("-") # `ruby bundle exec neverblock` is another program at first

        script && File.expand_path(script, @here) == File.expand_path(program, @here) ? flags : compiler
      end

      # Of options that are not known, what makes most difference.
      def compiler
        defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled? ? ["--yjit"] : []
      end
    end
  end
end
