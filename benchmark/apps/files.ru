# frozen_string_literal: true

# The application behind a server of files in NB_BENCH_FILES. /loop/N burns CPU for N times some ten
# milliseconds.
# NB_BENCH_THROUGH says how /NAME is answered. With "to_path" the body names the file's path. With
# "read" the application reads the file. Without it the answer is 404, which shows a file that the
# server should have served itself.
require "time"

warn "bench: yjit=#{defined?(RubyVM::YJIT) ? RubyVM::YJIT.enabled? : false}"

THROUGH = ENV.fetch("NB_BENCH_THROUGH", "")
FILES = ENV.fetch("NB_BENCH_FILES")
PART_BYTES = 65_536
# Ten milliseconds of Ruby 3.1 with YJIT on a core of 2.5 GHz.
TURNS = 240_000

# A body as Rack::Files gives it, which a server may open itself.
Opened = Struct.new(:to_path) do
  def each
    File.open(to_path, "rb") do |file|
      while (part = file.read(PART_BYTES))
        yield part
      end
    end
  end
end

# The same without a path to be seen.
Read = Struct.new(:file) do
  def each(&block)
    Opened.new(file).each(&block)
  end
end

BODIES = { "to_path" => Opened, "read" => Read }.freeze

answer = lambda do |name|
  path = File.join(FILES, name)
  facts = File.stat(path)
  [200, { "content-type" => "application/octet-stream", "content-length" => facts.size.to_s,
          "last-modified" => facts.mtime.httpdate,
          "etag" => %("#{facts.mtime.to_i.to_s(16)}-#{facts.size.to_s(16)}") },
   BODIES.fetch(THROUGH).new(path)]
end

burn = lambda do |times|
  sum = 0
  (times * TURNS).times { |turn| sum = (sum + turn) & 0xffff }
  [200, { "content-type" => "text/plain" }, [sum.to_s]]
end

run(lambda do |env|
  path = env["PATH_INFO"]
  next burn.call(path[6..].to_i) if path.start_with?("/loop/")

  THROUGH.empty? ? [404, { "content-type" => "text/plain" }, ["not here"]] : answer.call(path)
end)
