# frozen_string_literal: true

# rdkafka waits in librdkafka, by ffi: without Ruby's lock and without a hook
# (lib/rdkafka/consumer.rb, lib/rdkafka/producer.rb). Consumer#each polls. A listener of rebalances
# is called where the poll runs. A producer's delivery handle waits in Ruby, and needs nothing.

require "neverblock/blockers/gem"

module NeverBlock
  module Blockers
    gem "rdkafka", "~> 0.22", owner: "Rdkafka::Consumer",
                              names: %i[poll commit committed query_watermark_offsets close]
    gem "rdkafka", "~> 0.22", owner: "Rdkafka::Producer", names: %i[flush close]
  end
end
