# frozen_string_literal: true

# What a starting server says of itself, and what this Ruby could do better (Advice).

require "neverblock/config/suggestion"
require "neverblock/version"

module NeverBlock
  module Boot
    module Notices
      RUBY_ADVISED = "3.3.1"
      # Weaknesses an operator would notice. Others are worked around in compat/ and the scheduler.
      WEAKER = {
        "3.1" => "code that is loaded while serving stops all requests (load it at boot), and " \
                 "Ruby's own mutexes have known faults in fibers (Bug #19480)",
        "3.2" => "Ruby's own mutexes have known faults in fibers (Bug #19480)",
        "3.3.0" => "code that computes is preempted late or never, so that it stops all " \
                   "requests (Bug #20197)"
      }.freeze

      module_function

      # @param config [Config]
      # @param environment [String]
      # @param workers [Integer]
      # @return [String]
      def banner(config, environment, workers = 1)
        fibers = "#{config.fibers} fiber#{"s" unless config.fibers == 1}"
        fibers = "#{workers} workers with #{fibers} each" if workers > 1
        yjit = " with YJIT" if yjit_on?
        "version #{VERSION}, #{ruby}#{yjit}, process #{Process.pid}, #{environment}, #{fibers}"
      end

      ENVIRONMENTS = %w[development production test].freeze

      # @param name [String] of the environment
      # @param folder [String] the application's
      # @return [String, nil] a line about a name that is near a usual one, and may be a slip
      def near_environment(name, folder = Dir.pwd)
        return if ENVIRONMENTS.include?(name)
        return if File.exist?(File.join(folder, "config/environments/#{name}.rb"))

        near = Suggestion.nearest(name, ENVIRONMENTS) or return
        "the environment is #{name.inspect}; did you mean #{near}?"
      end

      # @return [String, nil] a line about a Ruby that works less well than newer ones
      def weaker_ruby(version = RUBY_VERSION)
        weakness = WEAKER[version] || WEAKER[version[/\A\d+\.\d+/]] or return nil

        "Ruby #{version} has weaknesses: #{weakness}. #{RUBY_ADVISED} or newer is advised"
      end

      # @return [String, nil] the same in few words
      def newer_ruby(version = RUBY_VERSION)
        return unless weaker_ruby(version)

        "Ruby #{RUBY_ADVISED} or newer mends faults of #{version}"
      end

      # Switches YJIT on, if Ruby can do that at run time (3.3).
      # @param wanted [Boolean] false: does nothing
      # @return [String, nil] an advice when it could not
      def enable_yjit(wanted, yjit: find_yjit)
        return nil if !wanted || yjit.nil? || yjit.enabled?
        return slow(yjit_options) unless yjit.respond_to?(:enable)

        yjit.enable
        nil
      end

      # The environment that switches YJIT on at start. Ruby 3.1 touches all the memory reserved for
      # machine code, 256 MB in each process unless limited.
      # @return [String]
      def yjit_options(version = RUBY_VERSION)
        version < "3.2" ? "RUBYOPT=\"--yjit --yjit-exec-mem-size=64\"" : "RUBYOPT=--yjit"
      end

      def slow(options)
        "start with #{options}: Ruby's compiler makes most applications faster"
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

      private_class_method :slow, :find_yjit, :yjit_on?, :ruby
    end
  end
end
