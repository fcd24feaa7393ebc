# frozen_string_literal: true

module NeverBlock
  module Bench
    # Measures the planned claims one after the other and publishes each. An interruption keeps what
    # is done.
    class Session
      # @param plans [Array<Plan>]
      # @param directory [String] of NAME.json and NAME.md
      # @param collection [Collection] the page
      # @param asked [Boolean] whether the folder was named; a measurement that was interrupted is
      #   not written over the kept results
      # @param out [IO] receives the tables
      # @param err [IO] receives progress
      # @param runner [Class] Runner
      def initialize(plans, directory:, collection:, asked:, out:, err:, runner: Runner)
        @plans = plans
        @directory = directory
        @collection = collection
        @asked = asked
        @out = out
        @err = err
        @runner = runner
        @time_left = TimeLeft.new(plans.sum(&:seconds))
        @progress = Progress.new(err)
        @kept = 0
      end

      # @return [Integer] exit status: 0 if everything was measured
      def run
        say_whole if several?
        status = @plans.map { |plan| measure(plan) }.max
        finish
        status
      rescue Interrupt
        say_interrupted
        1
      end

      private

      def several?
        @plans.size > 1
      end

      def say_whole
        @progress.say("#{@plans.size} benchmarks, about " \
                      "#{Progress.duration(@plans.sum(&:seconds))}")
      end

      def measure(plan)
        journal = Journal.of(plan.claim, plan.settings, @directory)
        report = @runner.new(plan.claim, settings: plan.settings, progress: @progress,
                                         journal: journal, servers: plan.servers,
                                         scenarios: plan.scenarios, time_left: @time_left).run
        publish(report, journal) if @asked || !report.interrupted?
        raise Interrupt if report.interrupted?

        report.failed? ? 1 : 0
      rescue Error => e
        raise unless several?

        @time_left.drop(plan.seconds)
        @collection.leave_out(plan.claim.name, e.message)
        @err.puts("neverblock bench: #{plan.claim.name} is left out: #{e.message}")
        1
      end

      def publish(report, journal)
        paths = report.write(@directory)
        journal.remove unless report.failed? || report.interrupted?
        @out.puts(report.to_text)
        @collection.add(report.to_h)
        @kept += 1
        @err.puts("written: #{[*paths, *@collection.paths].join(", ")}")
      end

      def finish
        comparison = @collection.comparison
        @out.puts(comparison.summary, *comparison.cautions) if comparison
      end

      def say_interrupted
        @err.puts("neverblock bench: interrupted; all servers are stopped, #{kept_text}#{again}")
      end

      def kept_text
        return "no report is written" if @kept.zero?

        whole = "kept are #{@kept} of #{@plans.size} benchmarks, with what is missing marked"
        [whole, *@collection.paths.first].join(": ")
      end

      def again
        return unless @plans.any? { |plan| plan.claim.resumable? }

        several? ? "; the same command continues long downloads" : "; the same command continues"
      end
    end
  end
end
