# frozen_string_literal: true

# grpc waits for each batch of operations in C, on its completion queue, without Ruby's lock and
# without a hook (src/ruby/ext/grpc/rb_call.c, grpc_rb_call_run_batch; grpc/grpc#39299). All calls,
# also of streams, use run_batch.

require "neverblock/blockers/gem"

module NeverBlock
  module Blockers
    gem "grpc", ">= 1.50", "< 2", owner: "GRPC::Core::Call", names: %i[run_batch]
  end
end
