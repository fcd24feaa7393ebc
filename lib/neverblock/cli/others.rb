# frozen_string_literal: true

# What people type who come from another server, and what does the same here.

module NeverBlock
  module CLI
    module Others
      FIBERS = "a request runs in a fiber here, up to 1,024 at once: leave it out, or -f N"
      CONTROL = "write --pidfile FILE for neverblock stop and reload, --admin URL for figures"
      OUTPUT = "the log goes to standard output and error: > FILE in the shell, or the service " \
               "manager"
      DAEMON = "the server stays in the foreground: let the service manager run it"
      OPTIONS = {
        %w[-t --threads] => FIBERS,
        %w[-S --state --control --control-url --control-token -T] => CONTROL,
        %w[--redirect-stdout --redirect-stderr --redirect-append --log] => OUTPUT,
        %w[--listen] => "write -b URL",
        %w[-l] => "write -b URL to listen; #{OUTPUT}",
        %w[-D -d --daemonize --daemon] => DAEMON,
        %w[-E --env] => "write -e NAME",
        %w[-c --config-file] => "write -C FILE",
        %w[-q --quiet] => "leave it out: the log has what went wrong, and where it listens",
        %w[--dir --chdir] => "write directory \"DIR\" in config/neverblock.rb, or cd DIR before",
        %w[-I --include] => "write RUBYLIB=DIR before the command",
        %w[-r --require] => "require it in config.ru",
        %w[--fork-worker --prune-bundler --tag -s --server] => "leave it out"
      }.freeze
      VERBS = {
        "start" => "neverblock", "restart" => "neverblock reload",
        "phased-restart" => "neverblock reload", "halt" => "neverblock stop",
        "stats" => "neverblock status", "thread-backtraces" => "neverblock fibers --backtrace",
        "worker-count" => "neverblock status",
        "version" => "neverblock --version"
      }.freeze

      module_function

      # @param name [String] an option that is none of ours
      # @return [String, nil] a sentence that mends it
      def option(name) = OPTIONS.find { |names, _| names.include?(name) }&.last

      # @param word [String] a word that is no command
      # @return [String, nil] the command that does it
      def verb(word) = VERBS[word]
    end
  end
end
