# frozen_string_literal: true

# What a server says about itself when it starts: one line for what runs, and one for each thing about this Ruby that its operator should know.

require "neverblock/version"

module NeverBlock
  module Boot
    module Notices
      RUBY_ADVISED = "3.3.1"
      # What an operator would notice; the faults that can be worked around from outside are, one by one, in compat/ and the scheduler.
      WEAKER = {
        "3.1" => "here code that is loaded while serving stops all requests (load it at boot), and Ruby's own mutexes have known faults in fibers (Bug #19480)",
        "3.2" => "here Ruby's own mutexes have known faults in fibers (Bug #19480)",
        "3.3.0" => "here code that computes is cut into slices late or never, so that it stops all requests (Bug #20197)"
      }.freeze

      module_function

      # @param config [Config]
      # @param environment [String]
      # @param workers [Integer]
      # @return [String]
      def banner(config, environment, workers = 1)
        fibers = "#{config.fibers} fiber#{"s" unless config.fibers == 1}"
        fibers = "#{workers} workers with #{fibers} each" if workers > 1
        "version #{VERSION}, #{ruby}#{" with YJIT" if yjit_on?}, process #{Process.pid}, #{environment}, #{fibers}"
      end

      # @return [String, nil] one line about a Ruby that works, but less well than newer ones
      def weaker_ruby(version = RUBY_VERSION)
        weakness = WEAKER[version] || WEAKER[version[/\A\d+\.\d+/]] or return nil

        "Ruby #{version} works; #{weakness}. #{RUBY_ADVISED} or newer is advised"
      end

      # Switches YJIT on where that can be done from inside (Ruby 3.3).
      # @param wanted [Boolean] false: leave it as it is
      # @return [String, nil] a line to log
      def enable_yjit(wanted, yjit: find_yjit)
        return nil if !wanted || yjit.nil? || yjit.enabled?
        return "YJIT is off and this Ruby switches it on only at its start: #{yjit_options} makes most applications faster" unless yjit.respond_to?(:enable)

        yjit.enable
        nil
      end

      # What switches it on where that cannot be done from inside. Ruby 3.1 writes to all the memory that may once hold machine code: 256 MB in each process by itself.
      # @return [String]
      def yjit_options(version = RUBY_VERSION)
        version < "3.2" ? "RUBYOPT=\"--yjit --yjit-exec-mem-size=64\"" : "RUBYOPT=--yjit"
      end

      def find_yjit
        RubyVM::YJIT if defined?(RubyVM::YJIT)
      end

      def yjit_on?
        find_yjit&.enabled? || false
      end

      def ruby
        "#{RUBY_ENGINE} #{RUBY_VERSION}"
      end

      private_class_method :find_yjit, :yjit_on?, :ruby
    end
  end
end
