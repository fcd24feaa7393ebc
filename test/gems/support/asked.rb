# frozen_string_literal: true

require "support/gem_bundle"
require "support/on_threads/comparison"
require "support/services"
require "clients/support/backends"
require_relative "use"

module Gems
  # A use as a program of OnThreads.
  class Asked
    STYLES = { get: [["GET", ""]], post: [["POST", "a=1&b=2"], ["GET", ""]] }.freeze
    HEADERS = { "host" => "example.org", "accept" => "*/*",
                "origin" => "http://other.example.org" }.freeze

    attr_reader :use

    def initialize(use) = @use = use
    def name = "use"
    def questions = self
    def database? = use.services.include?(:postgresql)
    def to_s = use.name

    # @return [Array(String, String, Hash, String)] method, query, headers, body
    def at(number)
      method, body = STYLES.fetch(use.questions_style).then do |styles|
        styles[number % styles.size]
      end
      [method, "?n=#{number % 7}",
       HEADERS.merge(body.empty? ? {} : { "content-type" => "application/x-www-form-urlencoded" }),
       body]
    end

    # @param programs [Array<Asked>] the one
    # @return [String] of a rackup file
    def self.site(programs)
      use = programs.first.use
      <<~RUBY
        #{OnThreads::PRELUDE}
        require #{File.expand_path("server", __dir__).inspect}
        require #{File.expand_path("../uses/#{use.name}", __dir__).inspect}
        run Hunt::Site.new({ "use" => Gems.uses.fetch(#{use.name.inspect}).program })
      RUBY
    end
  end

  # The gems, and what else their servers are told.
  class Surroundings
    BUNDLE = GemBundle.new(File.expand_path("../Gemfile", __dir__), "gems-#{RUBY_VERSION}")
    KINDS = { redis: Services::Redis, memcached: Services::Memcached }.freeze
    # What gems use of the machine, and how it is asked for.
    INSTALLED = {
      imagemagick: -> { system("convert", "-version", out: File::NULL, err: File::NULL) },
      libvips: -> { IO.popen(%w[/sbin/ldconfig -p], &:read).include?("libvips.so.42") }
    }.freeze

    def initialize
      @started = {}
    end

    # @param services [Array<Symbol>]
    # @return [#env]
    # @raise [Services::Unavailable]
    def for(services)
      (services & INSTALLED.keys).each do |name|
        raise Services::Unavailable, "#{name} is not installed" unless INSTALLED.fetch(name).call
      end
      ports = (services & KINDS.keys).to_h do |name|
        ["NB_GEMS_#{name.to_s.upcase}", (@started[name] ||= KINDS.fetch(name).new.start).port.to_s]
      end
      Struct.new(:env).new(BUNDLE.env.merge(ports, "LD_PRELOAD" => nil))
    end

    def stop = @started.each_value(&:stop)

    # @return [Hash{String => String}] versions by name
    def self.versions
      @versions ||= File.read("#{BUNDLE.env.fetch("BUNDLE_GEMFILE")}.lock")
                        .scan(/^    (\S+) \((\S+?)(?:-x86\S+|-aarch\S+)?\)$/).to_h
    end
  end
end
