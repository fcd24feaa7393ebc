# frozen_string_literal: true

# A client that is ended in the block it streams to: the pool must not have it any more.

require "connection_pool"

# Stands for a client whose answer is read in a block.
class Client
  attr_reader :closed

  def stream = yield("part")
  def close = @closed = true
end

MADE = []
POOL = ConnectionPool.new(size: 1) { Client.new.tap { |client| MADE << client } }
def store(_part) = raise(NB::Error, "ended")

begin
  # SAMPLE
rescue NB::Error
  abort("it was not closed") unless MADE.first.closed
  POOL.with { |client| abort("the pool still has it") if client.equal?(MADE.first) }
else
  abort("the error was lost")
end
