# frozen_string_literal: true

# GET / answers at once. The other paths do not wait, or not as fibers do:
# /hog/KIND computes for about half a second, in one of the ways of an application.
# /thread starts a thread that computes for ever.
# /flock waits for a lock that is never free.
# /kept waits for a second in a call that has released Ruby's lock.
# /held computes for a second in a call that keeps Ruby's lock.
# /rest waits as a request does.
# /health and /1KB.bin are for servers that do not answer these themselves.
require "fiddle"
require "openssl"
require "tempfile"

warn "bench: yjit=#{defined?(RubyVM::YJIT) ? RubyVM::YJIT.enabled? : false}"

REST_S = 0.01
TEXT = ("the quick brown fox jumps over the lazy dog " * 40).freeze
LOCK = Mutex.new
# A number of 50,000 bits.
BIG = (3**31_000) | 1
# So many make a second of SHA-256 on a core of 2.5 GHz.
ROUNDS = 4_000_000
USLEEP = Fiddle::Function.new(Fiddle::Handle::DEFAULT["usleep"], [Fiddle::TYPE_INT],
                              Fiddle::TYPE_INT, need_gvl: false)

# Each open file has a lock of its own, so this process keeps it from itself.
file = Tempfile.new("neverblock-bench").tap { |made| made.write(Random.bytes(1_000)) && made.flush }
taken = Tempfile.new("neverblock-bench").tap { |made| made.flock(File::LOCK_EX) }

loops = lambda do |turns|
  sum = 0
  turns.times { |turn| sum = (sum + turn) & 0xffff }
  sum
end

nested = lambda do |count|
  inner = Enumerator.new { |yielder| count.times { |number| yielder << number } }
  Enumerator.new { |yielder| loop { yielder << (inner.next * 2) } }
end

HOGS = {
  "loop" => -> { loops.call(15_000_000) },
  "sort_by" => -> {
    220.times {
      Array.new(1_500) { |number| number }.sort_by { |number| (number * 7_919) & loops.call(30) }
    }
  },
  "gsub" => -> { 1_550.times { TEXT.gsub(/\w+/) { |word| word.tr("aeiou", "*").capitalize } } },
  "enumerator" => -> {
    1_100.times { nested.call(1_000).then { |numbers| loop { numbers.next } } }
  },
  "mutex" => -> { LOCK.synchronize { loops.call(15_000_000) } },
  "bignum" => -> { 2_900.times.inject(BIG) { |number, _| (number * BIG) % (BIG + 2) } }
}.freeze

background = nil
run(lambda do |env|
  path = env["PATH_INFO"]
  case path
  when %r{\A/hog/(\w+)\z} then HOGS.fetch(Regexp.last_match(1)).call
  when "/thread" then background ||= Thread.new { loop { nil } }
  when "/flock" then File.open(taken.path) { |opened| opened.flock(File::LOCK_EX) }
  when "/kept" then USLEEP.call(1_000_000)
  when "/held" then OpenSSL::KDF.pbkdf2_hmac("password", salt: "salt", iterations: ROUNDS,
                                             length: 32, hash: "SHA256")
  when "/rest" then sleep(REST_S)
  when "/1KB.bin"
    next [200, { "content-type" => "application/octet-stream" }, [File.binread(file.path)]]
  end
  [200,
   { "content-type" => "text/plain", "content-length" => "11", "x-worker" => Process.pid.to_s },
   ["Hello World"]]
end)
