# frozen_string_literal: true

module NeverBlock
  module Bench
    # Requests for a hot file (Arrivals) beside clients that download files from a slow disk of
    # which nothing is in memory. bytes_per_second: rate of that disk.
    Cold = Struct.new(:hot, :clients, :files, :bytes_per_second, keyword_init: true)

    # One run of it: the hot file's latencies as in OpenMeasurement, and the rate of the cold
    # downloads.
    class ColdMeasurement
      # Name of the disk's folder in the served one.
      FOLDER = "cold"
      # @param hot [#take] OpenMeasurement
      # @param clients [#run] DownloadClients
      # @param files [FileSet]
      # @param disk [#call] makes a ThrottledFolder from the arguments of its new
      def initialize(hot: OpenMeasurement.new, clients: DownloadClients.new(prefix: []),
                     files: FileSet.shared, disk: ThrottledFolder.method(:new))
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
        disk = make_disk(load)
        downloads = nil
        around = lambda do |&measured|
          downloads = Thread.new { download(process, load, scenario.seconds(settings)) }
          downloads.report_on_exception = false
          measured.call
        end
        hot = Scenario.new(**scenario.to_h, load: load.hot)
        figures = @hot.take(process, hot, settings, around: around)
        figures.merge(cold(downloads.value, load)) do |key, ours, theirs|
          key == "error_count" ? ours + theirs : [*ours, *theirs]
        end
      ensure
        downloads&.join
        disk&.remove
      end

      private

      def make_disk(load)
        paths = load.files.map { |name| @files.entry(name).disk }
        @disk.call(File.join(@files.directory, FOLDER), files: paths,
                                                        bytes_per_second: load.bytes_per_second)
      end

      def download(process, load, seconds)
        entries = load.files.map { |name| cold_entry(@files.entry(name)) }
        @clients.run(Crowd.new(clients: load.clients, files: load.files),
                     entries: entries, url: process.url, ramp: 0, seconds: seconds)
      end

      def cold_entry(entry)
        entry.dup.tap { |copy| copy.url = "/#{FOLDER}#{entry.url}" }
      end

      def cold(outcome, load)
        rate = outcome.bytes / outcome.seconds
        flags = []
        flags << "nothing was sent from the cold disk" if outcome.bytes.zero?
        # All clients may read the same part of one file.
        flags << "the disk was not cold" if rate > load.bytes_per_second * load.clients
        flags << Flags.errors(outcome.errors)
        { "cold_megabytes_per_second" => (rate / 1e6).round(3), "faults" => outcome.faults,
          "error_count" => outcome.error_count, "flags" => flags.compact }
      end
    end
  end
end
