# frozen_string_literal: true

module NeverBlock
  module Bench
    # For claims about an application with PostgreSQL, with the same number of connections in every
    # server. The claim has POOL (connections), GEMS (folder of benchmark/peers with the Gemfile of
    # its application) and LONG_MS (duration of a long query).
    module DatabaseClaim
      def servers
        candidates.map(&:name)
      end

      def candidates
        @candidates ||= Servers.with_database(pool: self.class::POOL, gems: self.class::GEMS,
                                              &method(:environment))
      end

      private

      # @param share [Integer] connections of one worker
      # @return [Hash{String => String}] variables that the application reads
      def environment(share)
        { "DATABASE_URL" => "#{Services.postgresql.url}?sslmode=disable",
          "NB_BENCH_POOL" => share.to_s, "NB_BENCH_LONG_MS" => self.class::LONG_MS.to_s }
      end

      # @param name [String] of the scenario
      # @param least [Numeric] least rate of the claim's own server, as a multiple of each peer's
      # @param title [String] of the scenario
      # @return [Array<Verdict>]
      def peers_verdicts(results, name, least, title: name)
        own = self.class::OWN
        (servers - [own]).flat_map do |peer|
          rate = results.ratio(own, peer, name, "rate")
          cpu = results.ratio(own, peer, name, "cpu_us_per_request")
          [Verdict.judge("#{title}: requests a second over #{peer}'s", rate,
                         limit: "at least #{least} x") { |ratio| ratio >= least },
           Verdict.judge("#{title}: CPU a request over #{peer}'s", cpu,
                         limit: "at most 1.0 x") { |ratio| ratio <= 1 }]
        end
      end
    end
  end
end
