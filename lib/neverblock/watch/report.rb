# frozen_string_literal: true

# The text of `neverblock status`, made from a document. Parts that the server does not have are
# left out.

require "neverblock/watch/client_rows"
require "neverblock/watch/columns"
require "neverblock/watch/document"
require "neverblock/watch/pool_rows"
require "neverblock/watch/units"

module NeverBlock
  module Watch
    class Report
      NAME_WIDTH = 13

      # @param document [Document]
      def initialize(document)
        @document = document
      end

      # @return [String] whole lines
      def to_s
        [head, facts, certificates, latency, executors, pools, stalls, lanes, clients, algorithms,
         rest].reject(&:empty?).map { |lines| "#{lines.join("\n")}\n" }.join("\n")
      end

      private

      def head
        lines = [versions, row("state", state)]
        binds = @document.texts("binds")
        binds.empty? ? lines : lines << row("listening on", binds.join(" "))
      end

      def versions
        neverblock, ruby = %w[neverblock ruby].map { |name| @document.text(name) || "?" }
        "NeverBlock #{neverblock} on Ruby #{ruby}, process #{@document.number("pid") || "?"}"
      end

      def state
        started = @document.text("started_at")
        state = @document.text("state") || "unknown"
        "#{state}, up #{Units.age(@document.number("uptime_s"))}#{" since #{started}" if started}"
      end

      def facts
        [section("connections", %w[open limit idle reading answering],
                 %w[accepted_total refused_total]),
         section("requests", %w[running queued writing],
                 %w[total shed_total refused_total timed_out_total aborted_total lost_total
                    errors_total]),
         classes, bytes, tls].compact
      end

      def section(name, *groups)
        return unless @document.any?(name)

        parts = groups.map do |keys|
          keys.map { |key| "#{label(key)} #{count(name, key)}" }.join(", ")
        end
        row(name, parts.join("; "))
      end

      def classes
        return unless @document.any?("requests", "by_class")

        counts = Document::CLASSES.map { |name| "#{name} #{count("requests", "by_class", name)}" }
        row("answers", counts.join(", "))
      end

      def bytes
        return unless @document.any?("bytes")

        received, sent = %w[received_total sent_total].map do |name|
          Units.bytes(@document.number("bytes", name))
        end
        row("bytes", "received #{received}, sent #{sent}")
      end

      # Handshakes that were done, and why others were not.
      def tls
        return unless @document.any?("tls", "handshakes")

        failed = @document.names("tls", "handshakes") - DONE
        counts = failed.to_h { |name| [name, @document.number("tls", "handshakes", name).to_i] }
        reasons = counts.select { |_, number| number.positive? }
                        .map { |name, number| "#{label(name)} #{Units.count(number)}" }
        full, resumed = DONE.map { |name| "#{name} #{count("tls", "handshakes", name)}" }
        row("TLS", "handshakes #{full}, #{resumed}, failed #{Units.count(counts.values.sum)}" \
                   "#{" (#{reasons.join(", ")})" if reasons.any?}; #{versions_of_tls}")
      end
      DONE = %w[full resumed].freeze
      private_constant :DONE

      def versions_of_tls
        %w[1.2 1.3].map { |name| "TLS #{name}: #{count("tls", "versions", name)}" }.join(", ")
      end

      def certificates
        parts = @document.parts("tls", "certificates")
        return [] if parts.empty?

        rows = parts.map do |part|
          [part.text("name") || "?", part.text("key") || "?", part.text("address") || "?",
           part.text("expires_at") || "?", left(part.number("expires_in_s"))]
        end
        Columns.align([%w[certificate key address expires left], *rows])
      end

      def left(seconds)
        seconds && seconds <= 0 ? "expired" : Units.age(seconds)
      end

      def latency
        return [] unless @document.any?("latency_s")

        stages = Document::STAGES.select { |stage| @document.any?("latency_s", stage) }
        rows = stages.map do |stage|
          values = Document::QUANTILES.map do |name|
            Units.duration(@document.number("latency_s", stage, name))
          end
          [stage, count("latency_s", stage, "count"), *values]
        end
        Columns.align([["latency", "count", *Document::QUANTILES], *rows])
      end

      EXECUTOR_COLUMNS = [
        "executor", "running", "parked", "ready", "limit", "requests", "turns", "busy for",
        "lag p99"
      ].freeze
      EXECUTOR_FIGURES = %w[running parked ready fibers_limit requests_total turns_total].freeze
      private_constant :EXECUTOR_COLUMNS, :EXECUTOR_FIGURES

      def executors
        parts = @document.parts("executors")
        return [] if parts.empty?

        workers = parts.any? { |part| part.number("pid") }
        names = [*EXECUTOR_COLUMNS, *(%w[process resident] if workers)]
        Columns.align([names, *parts.map { |part| [*executor(part), *(process(part) if workers)] }])
      end

      def executor(part)
        figures = EXECUTOR_FIGURES.map { |name| Units.count(part.number(name)) }
        [part.executor_name, *figures, Units.duration(part.number("busy_for_s")),
         Units.duration(part.number("lag_s", "p99"))]
      end

      # The worker's process.
      def process(part)
        [(part.number("pid") || "?").to_s, Units.bytes(part.number("rss_bytes"))]
      end

      def pools
        Columns.align(PoolRows.new(@document).to_a, least: 4, left: PoolRows::LEFT)
      end

      # By culprit, the longest total time first.
      def stalls
        parts = @document.parts("stalls", "by")
        return [] if parts.empty?

        rows = parts.sort_by { |part| -part.number("time_s").to_f }.map do |part|
          [part.text("culprit") || "?", part.text("kind") || "?",
           Units.count(part.number("total")), Units.duration(part.number("time_s"))]
        end
        Columns.align([%w[stalls\ by kind count time], *rows])
      end

      # Request classes that run on threads because they have stalled.
      def lanes
        parts = @document.parts("lanes", "learned")
        return [] if parts.empty?

        rows = parts.map do |part|
          ["#{part.text("method")} #{part.text("path")}", Units.duration(part.number("left_s"))]
        end
        Columns.align([["lanes learned", "for"], *rows])
      end

      # Those that have taken a second or longer for a response.
      def clients
        Columns.align(ClientRows.new(@document).to_a, least: 4, left: ClientRows::LEFT)
      end

      # Algorithms that have sent files.
      def algorithms
        rows = @document.names("downloads", "algorithms").filter_map do |name|
          complete, bytes, bursts = %w[complete_total bytes_total bursts_total].map do |figure|
            @document.number("downloads", "algorithms", name, figure)
          end
          next unless bytes&.positive?

          [name, Units.count(complete), Units.bytes(bytes), Units.count(bursts)]
        end
        rows.empty? ? [] : Columns.align([%w[files\ sent\ by complete bytes steps], *rows])
      end

      def rest
        REST.filter_map do |name, entries|
          row(name, figures(entries)) if entries.any? { |_, path,| @document.any?(path.first) }
        end
      end

      # Each has a name and entries of label, path and unit.
      HTTP2 = ["HTTP/2", [
        ["connections", %w[http2 connections], :count],
        ["streams", %w[http2 streams], :count],
        ["requests", %w[http2 requests_total], :count],
        ["reset by clients", %w[http2 reset_by_client_total], :count],
        ["by the server", %w[http2 reset_by_server_total], :count],
        ["refused", %w[http2 bounds streams_total], :count]
      ]].freeze
      COMPRESSION = ["compressed", [
        ["gzip", %w[compression gzip_total], :count],
        ["br", %w[compression br_total], :count],
        ["zstd", %w[compression zstd_total], :count],
        ["from", %w[compression input_bytes_total], :bytes],
        ["to", %w[compression output_bytes_total], :bytes]
      ]].freeze
      DOWNLOADS = ["downloads", [
        ["active", %w[downloads active], :count],
        ["queued", %w[downloads queued], :count],
        ["threads busy", %w[downloads workers_busy], :count],
        ["complete", %w[downloads complete_total], :count],
        ["not modified", %w[downloads not_modified_total], :count],
        ["refused", %w[downloads refused_total], :count],
        ["missing", %w[downloads missing_total], :count],
        ["aborted", %w[downloads aborted_total], :count],
        ["timed out", %w[downloads timed_out_total], :count],
        ["shrunk", %w[downloads shrunk_total], :count],
        ["stopped", %w[downloads stopped_total], :count]
      ]].freeze
      FIRST_BYTE = ["first byte", [
        ["p50", %w[downloads first_byte_s p50], :duration],
        ["p99", %w[downloads first_byte_s p99], :duration]
      ]].freeze
      SPEED = ["speed", [
        ["p50", %w[downloads bytes_per_second p50], :speed],
        ["p90", %w[downloads bytes_per_second p90], :speed]
      ]].freeze
      I_O_LOOP = ["I/O loop", [
        ["turns", %w[loop turns_total], :count],
        ["by executors", %w[loop guest_turns_total], :count],
        ["lag p50", %w[loop lag_s p50], :duration],
        ["p99", %w[loop lag_s p99], :duration],
        ["max", %w[loop lag_s max], :duration]
      ]].freeze
      DNS = ["DNS", [
        ["lookups", %w[dns lookups_total], :count],
        ["cached", %w[dns cached_total], :count],
        ["failed", %w[dns failed_total], :count],
        ["pending", %w[dns pending], :count]
      ]].freeze
      MEMORY = ["memory", [
        ["resident", %w[memory rss_bytes], :bytes],
        ["spooled", %w[memory spool_bytes], :bytes],
        ["responses", %w[memory response_bytes], :bytes],
        ["live objects", %w[memory ruby_heap_live_slots], :count]
      ]].freeze
      GC = ["GC", [
        ["runs", %w[gc count_total], :count],
        ["minor", %w[gc minor_total], :count],
        ["major", %w[gc major_total], :count],
        ["time", %w[gc time_s], :duration]
      ]].freeze
      LOG = ["log", [["lines dropped", %w[log dropped_total], :count]]].freeze
      REST = [HTTP2, COMPRESSION, DOWNLOADS, FIRST_BYTE, SPEED, I_O_LOOP, DNS, MEMORY, GC,
              LOG].freeze
      private_constant :HTTP2, :COMPRESSION, :DOWNLOADS, :FIRST_BYTE, :SPEED, :I_O_LOOP, :DNS,
                       :MEMORY, :GC, :LOG, :REST

      def figures(entries)
        entries.map do |label, path, unit|
          "#{label} #{Units.public_send(unit, @document.number(*path))}"
        end.join(", ")
      end

      def row(name, text)
        "#{name.ljust(NAME_WIDTH)} #{text}"
      end

      def count(*path)
        Units.count(@document.number(*path))
      end

      def label(key)
        key.delete_suffix("_total").tr("_", " ")
      end
    end
  end
end
