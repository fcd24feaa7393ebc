# frozen_string_literal: true

module NeverBlock
  module Bench
    module Claims
      # Table N1 of 2009, which two claims measure, one from each side: 1000 requests at once,
      # answered after a fixed delay. The ideal is 1,000,000 / delay_ms a second.
      # The including class answers `scenario(delay)`, the name of a delay's scenario, and
      # `subject`, what a row stands for.
      module TableN1
        AT_ONCE = 1000
        DELAYS_MS = [0, 10, 50, 100, 500].freeze

        # One client process, 1000 requests at once to a server with a fixed delay. Ruby 1.8 / 1.9
        # on two cores of 2009.
        PRIOR = {
          "2009: blocking 1.8 / 1.9" => ["2,000 / 2,400", "19 / 19", "16 / 17", "10 / 10", "2 / 2"],
          "2009: threads 1.8 / 1.9" => ["1,050 / 618", "800 / 470", "670 / 451", "536 / 441",
                                        "415 / 395"],
          "2009: NeverBlock" => %w[2,360 1,997 1,837 1,656 1,031]
        }.freeze

        # @return [Array<Published>]
        def published
          PRIOR.flat_map do |name, cells|
            DELAYS_MS.zip(cells).flat_map do |delay, cell|
              rates = cell.delete(",").split(" / ").map(&:to_i)
              rates.zip(prior_names(name)).map do |rate, label|
                Published.new(scenario: scenario(delay), metric: "rate", name: label, value: rate)
              end
            end
          end
        end

        private

        # "2009: threads 1.8 / 1.9" stands for two.
        def prior_names(name)
          name, second = name.split(" / ")
          [name, *(name.sub(/\S+\z/, second) if second)]
        end

        def scenario_names
          DELAYS_MS.map { |delay| scenario(delay) }
        end

        # @yieldparam name [String] of a row
        # @yieldparam delay [Integer] ms
        # @yieldreturn [String] the cell
        def rates_table(results, title, &cell)
          ideal = ["ideal", "-",
                   *DELAYS_MS.drop(1).map { |delay| Cell.number(AT_ONCE * 1000 / delay) }]
          Table.new(title, headers: headers,
                           rows: [ideal, *rows(results, &cell), *PRIOR.map(&:flatten)])
        end

        # @param last [Hash{String => Proc}] a last column: its head and what gives a row's cell
        def table(results, title, last: {}, &cell)
          cells = rows(results, &cell).map do |row|
            row + last.values.map { |give| give.call(row.first) }
          end
          Table.new(title, headers: headers + last.keys, rows: cells)
        end

        def rows(results)
          results.servers.map { |name| [name, *DELAYS_MS.map { |delay| yield name, delay }] }
        end

        def headers
          [subject, *DELAYS_MS.map { |delay| "#{delay} ms" }]
        end
      end
    end
  end
end
