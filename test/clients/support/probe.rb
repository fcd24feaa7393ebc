# frozen_string_literal: true

# The process of one library. It loads the library and runs its checks one after another, each in an
# event loop of its own. It writes the results as lines of JSON to descriptor 3.
#
#   CLIENT_SERVICES='{"http":1234,...}' ruby -Ilib -rbundler/setup \
#     test/clients/support/probe.rb NAME [CHECK...]  3>results

require "json"
require_relative "library"

# How long a check may take before the process says where it is, and ends, in seconds.
LIMIT_S = Integer(ENV.fetch("L", "45"))

output = IO.for_fd(3, "w")
output.sync = true
library = Clients.load.fetch(ARGV.shift)
library.files.each { |file| require file }
require "neverblock"

spec = library.gem_name && Gem.loaded_specs[library.gem_name]
output.puts JSON.generate("library" => library.name,
                          "version" => (spec ? spec.version.to_s : Net::HTTP::VERSION))

checks = library.checks.values.select { |check| ARGV.empty? || ARGV.include?(check.name.to_s) }
play = library.play(JSON.parse(ENV.fetch("CLIENT_SERVICES")))
limit = nil
Thread.new do
  loop do
    sleep(0.2)
    next unless limit && Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit

    $stderr.puts "a check took over #{LIMIT_S} s",
                 *Thread.main.backtrace&.map { |line| "    #{line}" }
    exit!(70)
  end
end

checks.each do |check|
  started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  limit = started + LIMIT_S
  begin
    detail = NB.run { play.instance_exec(&check.block) }
    verdict = "yields"
  rescue Clients::Blocked => e
    verdict = "blocks"
    detail = e.message
  rescue StandardError, ScriptError => e
    verdict = "failed"
    detail = "#{e.class}: #{e.message[0, 500]} " \
             "(#{e.backtrace&.find { |line| !line.include?("support/play.rb") }})"
  end
  seconds = (Process.clock_gettime(Process::CLOCK_MONOTONIC) - started).round(2)
  output.puts JSON.generate("check" => check.name, "verdict" => verdict, "seconds" => seconds,
                            "detail" => (detail if detail.is_a?(String)))
end
exit!(0)
