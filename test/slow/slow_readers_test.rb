# frozen_string_literal: true

require "socket"
require "uri"
require_relative "../support/server_process_case"

# Tests thousands of clients that ask for a large streamed body and do not read. The responses hold
# at most limits.response_bytes, and 32 KB for each. The process grows by that and its fibers.
# Others are answered meanwhile, and everything is given back in the end.
class SlowReadersTest < ServerProcessCase
  READERS = Integer(ENV.fetch("NB_SLOW_READERS", "2000"), 10)
  CHUNK_BYTES = 65_536
  CHUNKS = 128 # 8 MB: more than the kernel (tcp_wmem: 4 MB) and the server may hold
  BUDGET_BYTES = 33_554_432
  FLOOR_BYTES = 32_768
  # A ring each way, and what the loop took from one in the turn.
  RINGS_BYTES = 3 << 20
  # A fiber's stacks and objects; three times what was measured.
  FIBER_BYTES = 60_000
  READ_WHOLE = 20

  APP = <<~RACKUP
    require "json"
    chunk = ("x" * #{CHUNK_BYTES}).freeze
    run(lambda do |env|
      case env["PATH_INFO"]
      when "/each" then [200, {}, Enumerator.new { |out| #{CHUNKS}.times { out << chunk } }]
      when "/call" then [200, {}, ->(stream) { #{CHUNKS}.times { stream << chunk } }]
      else
        GC.start if env["QUERY_STRING"] == "collected"
        figures = { running: ObjectSpace.each_object(NeverBlock::Executor).first.running,
                    held: ObjectSpace.each_object(NeverBlock::Engine).first.stats[:response_bytes],
                    rss: File.read("/proc/self/status")[/VmRSS:\\s*(\\d+)/, 1].to_i * 1024 }
        [200, {}, [JSON.generate(figures)]]
      end
    end)
  RACKUP

  def self.app = APP

  def self.server_options
    { settings: { fibers: READERS + 100, response_bytes_max: BUDGET_BYTES,
                  body_timeout_ms: 3_600_000 } }
  end

  %w[each call].each do |kind|
    define_method("test_readers_of_a_body_by_#{kind}_that_do_not_read") { hold("/#{kind}") }
  end

  private

  def hold(path)
    before = figures["rss"]
    readers = Array.new(READERS) do
      connect(receive_buffer_bytes: 4096).tap { |reader| reader.get(path) }
    end
    seen = nil
    Timeout.timeout(Patience::SECONDS) do
      seen = figures until seen && seen["running"] > READERS && seen["held"] > BUDGET_BYTES / 2
    end
    bound = BUDGET_BYTES + RINGS_BYTES + (READERS * FLOOR_BYTES)
    most = Array.new(50) { figures }.each { |now| assert_operator now["held"], :<=, bound }
                .map { |now| now["rss"] - before }.max
    puts "#{path}: #{READERS} readers, #{seen["held"] >> 10} KB held, the process grew by " \
         "#{most >> 10} KB"
    assert_operator most, :<=, bound + (READERS * FIBER_BYTES)
    readers.shift(READ_WHOLE).each do |reader|
      assert_equal CHUNKS * CHUNK_BYTES, reader.response.body.bytesize
    end
    readers.each_slice(2) { |one, other| one.abort || other&.close }
    Timeout.timeout(Patience::SECONDS) do
      seen = figures until seen["running"] == 1 && seen["held"] <= CHUNK_BYTES
    end
  end

  def figures
    JSON.parse(ask("/").body)
  end
end
