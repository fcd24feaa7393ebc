# frozen_string_literal: true

module NeverBlock
  module Bench
    # A hot file that is asked for now and then (Arrivals), beside clients that download files of a disk that is slow and cold. bytes_per_second: of that disk.
    Cold = Struct.new(:hot, :clients, :files, :bytes_per_second, keyword_init: true)

    # One run of it: the hot file's latencies as OpenMeasurement takes them, and what the cold downloads got meanwhile.
    class ColdMeasurement
      # Of the served folder.
      FOLDER = "cold"
      # @param hot [#take] OpenMeasurement
      # @param clients [#run] DownloadClients
      # @param files [FileSet]
      # @param disk [#call] makes a ThrottledFolder, given what its new takes
      def initialize(hot: OpenMeasurement.new, clients: DownloadClients.new(prefix: []), files: FileSet.shared, disk: ThrottledFolder.method(:new))
        @hot = hot
        @clients = clients
        @files = files
        @disk = disk
      end

      # @param process [ServerProcess] just started
      # @param scenario [Scenario] its load is Cold
      # @param settings [Settings]
      # @return [Hash{String => Object}] the figures, flat
      def take(process, scenario, settings)
        load = scenario.load
        disk = @disk.call(File.join(@files.directory, FOLDER), files: load.files.map { |name| @files.entry(name).disk }, bytes_per_second: load.bytes_per_second)
        downloads = nil
        around = lambda do |&measured|
          downloads = Thread.new { download(process, load, scenario.seconds(settings)) }
          downloads.report_on_exception = false
          measured.call
        end
        figures = @hot.take(process, Scenario.new(**scenario.to_h, load: load.hot), settings, around: around)
        figures.merge(cold(downloads.value, load)) { |key, hot, cold| key == "error_count" ? hot + cold : [*hot, *cold] }
      ensure
        downloads&.join
        disk&.remove
      end

      private

      def download(process, load, seconds)
        entries = load.files.map { |name| @files.entry(name).dup.tap { |entry| entry.url = "/#{FOLDER}#{entry.url}" } }
        @clients.run(Crowd.new(clients: load.clients, files: load.files), entries: entries, url: process.url, ramp: 0, seconds: seconds)
      end

      def cold(outcome, load)
        rate = outcome.bytes / outcome.seconds
        flags = []
        flags << "nothing of the cold disk was sent" if outcome.bytes.zero?
        flags << "the disk was not cold" if rate > load.bytes_per_second * load.clients # all of them may have met in one file
        flags << Flags.errors(outcome.errors)
        { "cold_megabytes_per_second" => (rate / 1e6).round(3), "faults" => outcome.faults, "error_count" => outcome.error_count, "flags" => flags.compact }
      end
    end
  end
end
