# frozen_string_literal: true

require "fileutils"
require "json"

module NeverBlock
  module Bench
    # The runs of a claim that were finished, a line each, kept until its report is written: an interrupted one goes on where it stopped. Runs of other settings or
    # loads are not taken over.
    class Journal
      # A run and what the report says of its server.
      Entry = Struct.new(:run, :seen)

      class << self
        # @return [Journal] that keeps nothing
        def none
          new(nil, nil)
        end

        # @param claim [Claim]
        # @param settings [Settings]
        # @param directory [String] where its report goes
        # @return [Journal] that keeps nothing where a claim's runs are short
        def of(claim, settings, directory)
          return none unless claim.resumable?

          plan = [settings.seconds, settings.warmup_seconds, *claim.scenarios.map { |scenario| [scenario.name, scenario.title, scenario.load.to_h] }]
          new(File.join(directory, "#{claim.name}#{"-quick" if settings.quick}.runs"), plan)
        end
      end

      # @return [String, nil]
      attr_reader :path

      # @param path [String, nil]
      # @param plan [Object] what the runs were told, as JSON can tell it; one with another plan is begun anew
      def initialize(path, plan)
        @path = path
        @plan = JSON.parse(JSON.generate(plan))
        @entries = read
      end

      # @return [Integer] how many are there
      def size
        @entries.size
      end

      # @return [Entry, nil] the finished run of that place
      def find(round, scenario, server)
        @entries.find { |entry| entry.run.values_at("round", "scenario", "server") == [round, scenario, server] }
      end

      # @param run [Hash{String => Object}]
      # @param seen [Hash{String => Object}] command and yjit of its server
      def add(run, seen)
        return unless @path

        @entries << Entry.new(run, seen)
        FileUtils.mkdir_p(File.dirname(@path))
        lines = [{ "plan" => @plan }, *@entries.map { |entry| { "run" => entry.run, "seen" => entry.seen } }].map { |line| JSON.generate(line) }
        File.write("#{@path}.new", "#{lines.join("\n")}\n")
        File.rename("#{@path}.new", @path)
      end

      # The report has all.
      def remove
        FileUtils.rm_f(@path) if @path
      end

      private

      def read
        return [] unless @path && File.exist?(@path)

        plan, *runs = File.readlines(@path).map { |line| JSON.parse(line) }
        plan == { "plan" => @plan } ? runs.map { |line| Entry.new(line["run"], line["seen"]) } : []
      rescue JSON::ParserError
        []
      end
    end
  end
end
