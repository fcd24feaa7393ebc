# frozen_string_literal: true

# Tests every input of the conformance table in each of the four deliveries, against the real
# command. See README.md.

require_relative "judge"
require_relative "../support/server_process_case"

class VectorsTest < ServerProcessCase
  only_over :plain, :tls, "the text of HTTP/1.1"

  i_suck_and_my_tests_are_order_dependent! # in the order of the table, so that a run reads as one

  APP = <<~RACKUP
    require "#{File.expand_path("../support/app_recorder", __dir__)}"
    run RecorderApp.new
  RACKUP

  TALLY = Hash.new { |hash, row| hash[row] = [0, 0] }

  class << self
    # One server for all deliveries: whatever one of them did to it, the next must not notice.
    def app
      APP
    end

    def server_options
      { options: ServerProcess::UNHURRIED }
    end

    def summary
      lines = Conformance.table.rows.map do |row|
        right, all = TALLY[row.number]
        if row.why_not
          next format("  %2d  not applicable: %s (%s)", row.number, row.title, row.why_not)
        end

        if all.positive?
          format("  %2d  %3d of %3d  %s (%s)", row.number, right, all, row.title, row.rfc)
        end
      end
      right, all = TALLY.values.transpose.map(&:sum)
      ["", "Conformance of #{ServerProcess.server_name}:", *lines.compact,
       "#{right.to_i} of #{all.to_i} deliveries right"].join("\n")
    end
  end

  Minitest.after_run { puts summary if TALLY.any? }

  Conformance.table.rows.flat_map(&:inputs).each do |input|
    Conformance::Judge::DELIVERIES.each_key do |delivery|
      define_method("test_#{input.label}, #{delivery}") do
        TALLY[input.row.number][1] += 1
        complaint = Conformance::Judge.new(server.url, input, delivery).complaint
        assert_nil complaint, "#{input.row.rfc}: #{input.row.title}"
        TALLY[input.row.number][0] += 1
      end
    end
  end
end
