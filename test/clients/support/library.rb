# frozen_string_literal: true

# One client library: its name, its needs and its checks. A file of libraries/ defines one or more.
# The test process reads names and sentences. A process of the library's own runs the blocks
# (support/probe.rb).
#
#   Clients.library("excon") do
#     requires "excon"
#     check(:together, "50 requests are inside the service at once") { ... }
#   end

module Clients
  # A thread was blocked where a fiber should have parked.
  class Blocked < StandardError; end

  # A result was not what it had to be.
  class Wrong < StandardError; end

  Check = Struct.new(:name, :sentence, :block)

  class << self
    # @return [Hash{String => Library}] by name, in the order they were read
    def libraries
      @libraries ||= {}
    end

    # @param parts [Array<Module>] shared by the checks; `included_checks(library)` of each adds its
    #   checks
    def library(name, *parts, &block)
      libraries[name] = Library.new(name, parts).tap { |library| library.instance_eval(&block) }
    end

    # Reads libraries/, once.
    def load
      Dir[File.join(__dir__, "../libraries/*.rb")].each { |file| require file }
      libraries
    end
  end

  class Library
    attr_reader :name, :checks, :files, :services, :expected, :notes

    def initialize(name, parts)
      @name = name
      @gem = name
      @checks = {}
      @files = []
      @services = []
      @expected = {}
      @notes = []
      @methods = Module.new { parts.each { |part| include part } }
      parts.each { |part| part.add_checks(self) if part.respond_to?(:add_checks) }
    end

    # @param files [Array<String>] what is required, in the library's process
    def requires(*files)
      @files.concat(files)
    end

    # @param name [String, nil] the gem whose version is reported; nil: Ruby's own library, without
    #   gems
    def gem(name)
      @gem = name
    end

    def gem_name
      @gem
    end

    # @param services [Array<Symbol>] of Backends; without them the library is not run
    def needs(*services)
      @services.concat(services)
    end

    # @param block [Proc] runs in a Play inside NB.run; its value, a String, is kept as the detail
    def check(name, sentence, &block)
      @checks[name] = Check.new(name, sentence, block)
    end

    def without(*names)
      names.each { |name| @checks.delete(name) }
    end

    # Gives a shared check another sentence.
    def sentence(name, text)
      @checks[name].sentence = text
    end

    # Says that a check finds the thread blocked, and why; it then has to.
    # @param on [String, nil] a Gem::Requirement of RUBY_VERSION
    def blocks(name, because:, on: nil)
      if on.nil? || Gem::Requirement.new(on).satisfied_by?(Gem::Version.new(RUBY_VERSION))
        @expected[name] = because
      end
    end

    # A sentence for docs/COMPATIBILITY.md.
    def note(text)
      @notes << text
    end

    # Defines a method of this library's checks.
    def define(name, &block)
      @methods.define_method(name, &block)
    end

    # @return [Play] to run the checks in
    def play(services)
      Play.new(services).extend(@methods)
    end
  end
end

require_relative "play"
