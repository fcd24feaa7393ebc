# frozen_string_literal: true

# The script of the articles of 2008 and 2009: twenty requests, by unchanged Net::HTTP, to a service
# that takes a second for each. In 2009 it began with EM.run, now with NB.run. Nothing else is
# different.

require "net/http"
require "neverblock"

uri = URI(ARGV.fetch(0, "http://localhost:9292/"))
started = Process.clock_gettime(Process::CLOCK_MONOTONIC)

NB.run do
  pool = NB::FiberPool.new(20)
  20.times do |i|
    pool.spawn { puts "#{i}: #{Net::HTTP.get(uri)}" }
  end
end

puts format("20 requests in %.2f s", Process.clock_gettime(Process::CLOCK_MONOTONIC) - started)
