# frozen_string_literal: true

# Tests random requests for files, many on a connection and split anywhere, some connections
# abandoned in the middle. Every answer matches a model of ranges, with every sender algorithm.
# NB_TEST_HUNT_SECONDS=10 gives the whole seconds for each.

require_relative "../support/range_model"
require_relative "../support/served_folder"
require_relative "../support/server_process_case"

class FilesHuntTest < Minitest::Test
  SECONDS = Integer(ENV.fetch("NB_TEST_HUNT_SECONDS", "10"))
  APP = 'run ->(env) { [200, { "content-type" => "text/plain", "x-app" => "yes" }, ["app"]] }'
  NO_FILES = ["/none", "/../secret.txt", "/%2e%2e/secret.txt", "/3.bin/", "/.hidden", "/a/b/c",
              "/..%2fsecret.txt"].freeze
  WAYS = { "auto" => [], "sba" => %w[--algorithm sba], "eba" => %w[--algorithm eba],
           "enba" => %w[--algorithm enba], "two workers" => %w[-w 2],
           "two I/O threads" => %w[--io-threads 2] }.freeze
  BYTES = [0, 1, 5, 300, 1_000, 4_096, 70_000, 300_000].freeze

  WAYS.each do |way, options|
    define_method("test_every_answer_is_what_was_asked_for_by #{way}") { hunt(options) }
  end

  private

  # A folder in memory: whether a name is there, only a worker can tell (files/open_files.h).
  def hunt(options)
    random = Random.new(Minitest.seed)
    files = BYTES.each_with_index.to_h { |bytes, i| ["#{i}.bin", random.bytes(bytes)] }
    folder = ServedFolder.new(files.merge(".hidden" => "out of sight"))
    ServerProcess.run(APP, options: ["--public", folder.path, *options]) do |server|
      limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + SECONDS
      threads = Array.new(4) do |n|
        Thread.new { Hunter.new(server, files, Random.new(Minitest.seed + n)).hunt_until(limit) }
      end
      assert_operator threads.sum(&:value), :>, 100
    end
  ensure
    folder&.remove
  end

  class Hunter
    include Minitest::Assertions

    attr_accessor :assertions

    def initialize(server, files, random)
      @server = server
      @files = files
      @random = random
      @assertions = 0
    end

    # @return [Integer] answers seen
    def hunt_until(limit)
      seen = 0
      seen += hunt_once while Process.clock_gettime(Process::CLOCK_MONOTONIC) < limit
      seen
    end

    private

    def pick(from)
      from[@random.rand(from.size)]
    end

    def hunt_once
      asked = Array.new(1 + @random.rand(12)) { ask }
      text = asked.map { |method, target, field|
        "#{method} #{target} HTTP/1.1\r\nHost: a\r\n#{"Range: #{field}\r\n" if field}\r\n"
      }.join
      cut = @random.rand(text.size)
      @server.connect do |client|
        client.write(text[0, cut])
        client.write(text[cut..])
        asked = asked.take(@random.rand(asked.size)) if @random.rand(20).zero? # and leaves
        asked.each do |method, target, field|
          check(method, target, field, client.response(method: method))
        end
      end
      asked.size
    end

    def ask
      return ["GET", pick(FilesHuntTest::NO_FILES), nil] if @random.rand(5).zero?

      name = pick(@files.keys)
      if @random.rand(3).positive?
        ranges = Array.new(pick([1, 1, 1, 2, 3, 8, 17])) { spec(@files[name].bytesize) }
        field = "bytes=#{ranges.join(pick([",", ", "]))}"
      end
      [pick(%w[GET GET GET HEAD]), "/#{name}", field]
    end

    def spec(size)
      first = @random.rand(size + 3)
      pick(["-#{@random.rand(size + 5)}", "#{first}-",
            "#{first}-#{first + @random.rand((size / 3) + 1)}",
            "#{first}-#{first + @random.rand((size / 3) + 1)}",
            "#{first}-#{[first - 1, 0].max}"])
    end

    def check(method, target, field, response)
      about = [method, target, field, response.status, response.fields].inspect
      content = @files[target.delete_prefix("/")]
      return assert(response["x-app"] || response.status == 400, about) unless content

      ranges = field && method == "GET" ? RangeModel.read(field, content.bytesize) : :whole
      case ranges
      when :whole
        assert_equal [200, content.bytesize.to_s, method == "HEAD" ? "" : content],
                     [response.status, response["content-length"], response.body], about
      when :none
        assert_equal [416, "bytes */#{content.bytesize}"],
                     [response.status, response["content-range"]], about
      else
        assert_equal [206, *expected(response, ranges, content)],
                     [response.status, response["content-range"], response.body], about
      end
    end

    # Content-Range and body.
    def expected(response, ranges, content)
      described = ranges.map { |range| "bytes #{range.begin}-#{range.end}/#{content.bytesize}" }
      return [described.first, content[ranges.first]] if ranges.size == 1

      boundary = response["content-type"].to_s[/boundary=(\h+)\z/, 1]
      parts = ranges.zip(described).map do |range, text|
        "\r\n--#{boundary}\r\nContent-Type: application/octet-stream\r\n" \
        "Content-Range: #{text}\r\n\r\n".b + content[range]
      end
      [nil, "#{parts.join}\r\n--#{boundary}--\r\n".b]
    end
  end
end
