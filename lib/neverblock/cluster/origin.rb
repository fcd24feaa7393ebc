# frozen_string_literal: true

# Records how this command was started, so that it can be started again as a mold: Ruby's options,
# the words, the environment before anything changed it, and the name of its folder. The name
# matters because deployments swap a link such as `current`, and the real folder becomes an old
# release. The name is found in PWD, in the rackup file of the command line, in the setting
# `directory`, or in a link beside the releases, as Capistrano makes it.

require "neverblock/boot/stacks"
require "neverblock/version"
require "rbconfig"

module NeverBlock
  module Cluster
    class Origin
      # The variable that makes `neverblock` a mold: the number of its control descriptor, and the
      # version that started it.
      VARIABLE = "NEVERBLOCK_MOLD"
      # Variables with which Ruby sets Bundler up before any other code; BUNDLER_SETUP is of
      # RubyGems 3.5 and later. A mold gets them under other names and sets Bundler up itself, so
      # that it can report a problem with the Gemfile.
      SET_ASIDE = { "RUBYOPT" => "NEVERBLOCK_RUBYOPT",
                    "BUNDLER_SETUP" => "NEVERBLOCK_BUNDLER_SETUP" }.freeze
      BUNDLER = %r{(\A|\s)-r\s*(\S*bundler/setup)(?=\s|\z)}.freeze
      EXECUTABLE = File.expand_path("../../../exe/neverblock", __dir__)

      # The variable with Bundler's Gemfile.
      GEMFILE = "BUNDLE_GEMFILE"
      private_constant :GEMFILE

      # Name of the link that deployments swap.
      CURRENT = "current"

      # @return [String] the folder, by its given name
      attr_reader :directory

      # @param rackup [String, nil] the rackup file of the command line
      # @param words [Array<String>] the words of the command
      # @param environment [Hash{String => String}]
      # @param here [String] the folder, without links
      # @param command [Array<String>, nil] the whole command line of this process; nil: unknown
      # @param program [String] $0
      def initialize(rackup: nil, words: ARGV, environment: ENV.to_h, here: Dir.pwd,
                     command: Origin.command_line, program: $PROGRAM_NAME)
        @words = words.map(&:dup).freeze
        @environment = environment.to_h.freeze
        @here = here
        @names = {}
        rackup_folder = File.dirname(File.expand_path(rackup, here)) if rackup
        [rackup_folder, environment["PWD"], *links].each { |name| follow(name) }
        @directory = moved(here)
        @flags = ruby_flags(command, program)
      end

      # Records a name of a folder. The name may lead to another folder later.
      # @param name [String, nil]
      # @return [void]
      def follow(name)
        return unless name.to_s.start_with?("/") && File.directory?(name)

        # As bytes: names of files may be no text of the locale.
        @names[File.realpath(name).b] ||= name == "/" ? name.b : name.chomp("/").b
      rescue SystemCallError
        nil
      end

      # @param setting [String, nil] the setting `directory`
      # @return [String] the application's folder, which is the working directory, by its given name
      def application(setting)
        named = File.expand_path(setting || ".", directory)
        File.identical?(named, Dir.pwd) ? named : Dir.pwd
      end

      # @return [Hash{String => String}] variables that name folders, by their given names
      def folder_variables
        by_names(ENV.slice(GEMFILE))
      end

      # @return [Array<String>, nil]
      def self.command_line
        words = File.binread("/proc/self/cmdline").split("\0")
        words.map { |word| word.force_encoding(Encoding.default_external) }
      rescue SystemCallError
        nil
      end

      # Starts a mold as a new process.
      # @param control [IO] its end of the control socket
      # @return [Integer] process id
      # @raise [SystemCallError]
      def spawn(control)
        descriptor = control.fileno
        ::Process.spawn(variables(descriptor), *command_words,
                        unsetenv_others: true, close_others: true, chdir: directory,
                        descriptor => descriptor)
      end

      # Replaces this process by a new start of the command. Never returns.
      # @param further [Hash{String => String, nil}] variables of its environment; nil: not that one
      # @param descriptors [Array<Integer>] that stay open
      # @raise [SystemCallError]
      def start_again(further = {}, descriptors = [])
        ::Process.exec(again(further), *command_words, **again_options(descriptors))
      end

      # Starts the command as a further process.
      # @param further [Hash{String => String, nil}] as of #start_again
      # @param descriptors [Array<Integer>] that are open there
      # @return [Integer] process id
      # @raise [SystemCallError]
      def spawn_again(further = {}, descriptors = [])
        ::Process.spawn(again(further), *command_words, close_others: true,
                                                        **again_options(descriptors))
      end

      # @param fd [Integer]
      # @return [Hash{String => String}] the environment of a mold
      def variables(fd)
        env = by_names(with_stacks.merge(VARIABLE => "#{fd}:#{VERSION}", "PWD" => directory))
        bundled?(env) ? set_aside(env) : env
      end

      private

      # With the sizes of stacks: a process that starts itself again for them (exec) may lose a
      # signal.
      def again(further)
        by_names({ **with_stacks, **further }.compact)
      end

      def with_stacks
        @environment.merge(Boot::Stacks.variables(@environment))
      end

      # Variables that name folders, by their given names.
      def by_names(env)
        env.key?(GEMFILE) ? env.merge(GEMFILE => moved(env[GEMFILE])) : env
      end

      def again_options(descriptors)
        { unsetenv_others: true, chdir: directory, **descriptors.to_h { |fd| [fd, fd] } }
      end

      def command_words
        [RbConfig.ruby, *@flags, moved(EXECUTABLE), *@words]
      end

      def bundled?(env)
        env["BUNDLER_SETUP"] || env["RUBYOPT"]&.match?(BUNDLER)
      end

      def set_aside(env)
        env = env.merge(SET_ASIDE.to_h { |name, other| [other, env[name]] }.compact)
        env.delete("BUNDLER_SETUP")
        env["RUBYOPT"] = env["RUBYOPT"].gsub(BUNDLER, "") if env["RUBYOPT"]
        env
      end

      # Such as /srv/app/current beside /srv/app/releases/20261127, or in the folder above.
      def links
        names = [File.dirname(@here, 2), File.dirname(@here)].map { |dir| File.join(dir, CURRENT) }
        names.select { |name| File.symlink?(name) && File.identical?(name, @here) }
      end

      # A path inside one of the recorded folders, by the folder's given name. After a link was
      # swapped it is in the new release.
      def moved(path)
        bytes = path.b
        real, name = @names.find do |folder, name|
          folder != name && "#{bytes}/".start_with?("#{folder}/")
        end
        return path unless real

        File.join(name, bytes.delete_prefix(real)).chomp("/").force_encoding(path.encoding)
      end

      # The options between `ruby` and the program, if it was started as `ruby ... program words`.
      def ruby_flags(command, program)
        return compiler if command.nil? || command.last(@words.size) != @words

        *flags, script = command[1...(command.size - @words.size)]
        # In `ruby bundle exec neverblock` the script is another program.
        return compiler unless flags.empty? || flags.first.start_with?("-")

        ours = script && File.expand_path(script, @here) == File.expand_path(program, @here)
        ours ? flags : compiler
      end

      # The most important option, when the options are unknown.
      def compiler
        defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled? ? ["--yjit"] : []
      end
    end
  end
end
