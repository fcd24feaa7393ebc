# frozen_string_literal: true

# What happens in the child of Check::Run: rules that need no application, the application's loading, rules that need it, requests. Each finding is told at once, since
# the application may end the process at any step.

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
      # @param probe [Array<String>, nil] paths to ask for; empty: what the application's routes say; nil: none
      # @yieldparam message [Hash] what is to be told: { stage: ... }, { finding: ... } or { facts: ... }
      def initialize(settings, rackup, probe, &tell)
        @subject = Subject.new(settings, Bundle.new(rackup ? File.dirname(File.expand_path(rackup)) : Dir.pwd))
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
        @tell.call({ facts: { ruby: "#{RUBY_ENGINE} #{RUBY_VERSION}", workers: @subject.workers, fibers: @subject.fibers, lock: bundle.lock, gems: bundle.versions.size } })
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
        tell([Finding.of(:serious, "application", "the application cannot be loaded: #{e.message}", mend_of(e.cause))])
        nil
      end

      def mend_of(cause)
        return if cause.nil? || cause.is_a?(LoadError) # what is wrong is said with its mend
        return "bundle install" if defined?(::Bundler::GemNotFound) && cause.is_a?(::Bundler::GemNotFound)

        "NB_DEBUG=1 shows what it writes; what is said of gems holds for those of the lock file"
      end

      def probe
        require "neverblock/check/probe"
        Probe.new(@subject.app, @probe, stage: method(:stage)).run.each { |finding| tell([finding]) }
      end
    end
  end
end
