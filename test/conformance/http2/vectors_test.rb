# frozen_string_literal: true

# Tests every input of the table of HTTP/2 in each delivery, against the real command. See
# README.md.

require_relative "judge"
require_relative "../../support/server_process_case"

class Http2VectorsTest < ServerProcessCase
  only_over :plain, "they make their own frames, by prior knowledge"

  i_suck_and_my_tests_are_order_dependent! # in the order of the table, so that a run reads as one

  ROOT = File.expand_path("../../..", __dir__)
  APP = <<~RACKUP
    require "#{ROOT}/test/support/app_recorder"
    run RecorderApp.new
  RACKUP

  TALLY = Hash.new { |hash, row| hash[row] = [0, 0] }

  class << self
    def app
      APP
    end

    def server_options
      { options: ServerProcess::UNHURRIED }
    end

    # @return [Boolean] whether this build speaks HTTP/2
    def http2?
      return @http2 unless @http2.nil?

      @http2 = Http2Wire.spoken?(server.url)
    end

    def summary
      lines = Conformance::Http2.table.rows.map { |row| summary_of(row) }
      right, all = TALLY.values.transpose.map(&:sum)
      ["", "Conformance of HTTP/2:", *lines, "#{right.to_i} of #{all.to_i} deliveries right"]
    end

    def summary_of(row)
      right, all = TALLY[row]
      told = ["#{right} of #{all}"] if all.positive?
      told = [*told, "in every exchange"] if row.rules.any?
      told = ["see #{row.elsewhere.first}"] if row.elsewhere
      told = ["not applicable: #{row.why_not}"] if row.why_not
      format("  %-8s %-6s %s: %s", row.rfc, row.section, row.title, told&.join(", "))
    end
  end

  Minitest.after_run { puts summary if TALLY.any? && ENV.key?("NB_CONFORMANCE_TABLE") }

  def setup
    skip "this build has no HTTP/2" unless self.class.http2?
  end

  Conformance::Http2.table.rows.flat_map(&:inputs).each do |input|
    Conformance::Http2::Judge::DELIVERIES.each_key do |delivery|
      define_method("test_#{input.label}, #{delivery}") do
        TALLY[input.row][1] += 1
        complaint = Conformance::Http2::Judge.new(server.url, input, delivery).complaint
        assert_nil complaint, "#{input.row.rfc} section #{input.row.section}: #{input.row.title}"
        TALLY[input.row][0] += 1
      end
    end
  end

  # A row is shown by inputs, by a rule of every exchange, by another test, or says why not.
  def test_rows_are_whole
    Conformance::Http2.table.rows.each do |row|
      shown = row.inputs.any? || row.rules.any? || row.elsewhere || row.why_not
      assert shown, "#{row.section}: #{row.title}: nothing shows it"
      assert_empty row.rules - Http2Wire::RULES.keys, row.title
      next unless row.elsewhere

      file, text = row.elsewhere
      assert_includes File.read(File.join(ROOT, file)), text, row.title
    end
  end
end
