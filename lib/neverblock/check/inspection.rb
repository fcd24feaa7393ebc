# frozen_string_literal: true

# The work of the child process of Check::Run: rules that need no application, loading the
# application, rules that need it, requests. Each finding is sent at once, because the application
# may end the process at any step.

require "neverblock/boot/application"
require "neverblock/check/bundle"
require "neverblock/check/finding"
require "neverblock/check/rules"
require "neverblock/check/subject"

module NeverBlock
  module Check
    class Inspection
      # @param settings [Config::Settings]
      # @param rackup [String, nil] path of the rackup file; nil: config.ru of this folder
      # @param probe [Array<String>, nil] paths to request; empty: those of the application's
      #   routes; nil: none
      # @yieldparam message [Hash] a message: { stage: ... }, { finding: ... } or { facts: ... }
      def initialize(settings, rackup, probe, &tell)
        # Ruby tags its own idea of the current folder as binary where the locale is C.
        directory = rackup ? File.dirname(File.expand_path(rackup, Dir.pwd)) : Dir.pwd
        @subject = Subject.new(settings, Bundle.new(directory))
        @rackup = rackup
        @probe = probe
        @tell = tell
      end

      # @return [void]
      def run
        facts
        tell(Rules.of(Rules::BEFORE, @subject))
        stage("loading the application")
        @subject.app = load
        stage("looking at the application")
        tell(Rules.of(Rules::AFTER, @subject))
        probe if @subject.app && @probe
        @tell.call({ stage: nil })
      end

      private

      def facts
        bundle = @subject.bundle
        @tell.call({ facts: { ruby: "#{RUBY_ENGINE} #{RUBY_VERSION}", workers: @subject.workers,
                              fibers: @subject.fibers, lock: bundle.lock,
                              gems: bundle.versions.size } })
      end

      def stage(name)
        @tell.call({ stage: name })
      end

      def tell(findings)
        findings.each { |finding| @tell.call({ finding: finding.to_h }) }
      end

      def load
        require "neverblock/library"
        app = Application.load(@rackup)
        Compat::Libraries.apply
        app
      rescue ApplicationError => e
        seen = "the application cannot be loaded: #{e.message}"
        tell([Finding.of(:serious, "application", seen, mend_of(e.cause))])
        nil
      end

      def mend_of(cause)
        return if cause.nil? || cause.is_a?(LoadError) # the error's own message names the fix
        return "bundle install" if gem_missing?(cause)

        "NB_DEBUG=1 shows its output; findings about gems are those of the lock file"
      end

      def gem_missing?(cause)
        defined?(::Bundler::GemNotFound) && cause.is_a?(::Bundler::GemNotFound)
      end

      def probe
        require "neverblock/check/probe"
        probe = Probe.new(@subject.app, @probe, stage: method(:stage))
        probe.run.each { |finding| tell([finding]) }
      end
    end
  end
end
