# frozen_string_literal: true

# `neverblock` of a sample. What ends by itself is the real command; where it asks a server, it asks
# the live one. What serves is started on free ports, and stopped when it listens. What would run
# for long has its words parsed.

root = ENV.fetch("SAMPLES_ROOT")
$LOAD_PATH.unshift(File.join(root, "lib"), File.join(root, "bench/lib"))
require "stringio"
require "neverblock/cli/commands"

CLI = NeverBlock::CLI
EXE = [RbConfig.ruby, File.join(root, "exe/neverblock")].freeze

def with_admin(words)
  at = words.index("--admin") or return words + ["--admin", ENV.fetch("SAMPLES_ADMIN")]
  words.dup.tap { |copy| copy[at + 1] = ENV.fetch("SAMPLES_ADMIN") }
end

def with_pidfile(words)
  words.map { |word| word == "tmp/neverblock.pid" ? ENV.fetch("SAMPLES_PIDFILE") : word }
end

# Starts it, and ends it once all its addresses listen.
def serve(words)
  words = words.map { |word| word.gsub("0.0.0.0", "127.0.0.1").sub(/(?<=\w):\d+(?=\?|\z)/, ":0") }
  awaited = [words.count("-b"), 1].max
  IO.popen([*EXE, *words], err: "serve.log") do |output|
    heard = output.each_line.find { |line| (awaited -= 1 if line.include?("Listening on")) == 0 }
    Process.kill("TERM", output.pid) if heard
  end
  $?.success? or abort(File.read("serve.log"))
end

def bench(words)
  require "neverblock/bench/cli"
  listed = StringIO.new
  status = NeverBlock::Bench::CLI.run([*words, "--list"], out: listed)
  name = words.first
  known = name.nil? || name == "all" || listed.string.match?(/^\s*#{name}\b/)
  exit(status.zero? && known)
end

words = ARGV.dup
case words.first
when "status", "fibers", "advise" then exec(*EXE, *with_admin(words))
when "reload" then exec(*EXE, *with_pidfile(words))
when "init", "check" then exec(*EXE, *words)
when "top"
  require "neverblock/cli/watch_options"
  CLI::WatchOptions.new("top", words.drop(1))
when "bench" then bench(words.drop(1))
else serve(words)
end
