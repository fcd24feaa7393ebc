# frozen_string_literal: true

# What the log of requests says of TLS: version, cipher, and whether the session was resumed. Single
# process and with workers, of requests that the application answers and of those it never sees.

require "json"
require "tmpdir"
require_relative "../support/workers_case"
require_relative "../support/tls_client"

class TLSLogTest < WorkersCase
  only_over :plain, "it opens its own addresses, with TLS and without"

  APP = "run ->(_env) { [200, {}, [\"hello\"]] }\n"
  FIELDS = %w[tls_version tls_cipher tls_resumed].freeze
  VERSIONS = { "TLSv1.2" => :TLS1_2, "TLSv1.3" => :TLS1_3 }.freeze

  [1, 2].each do |workers|
    define_method("test_version_cipher_and_resumption_are_told_w#{workers}") do
      serving(workers) do |server|
        VERSIONS.each_key do |version|
          session, cipher = ask(server, "/#{version}/first", version)
          ask(server, "/#{version}/second", version, session)
          assert_equal [version, cipher, false], told(server, "/#{version}/first")
          assert_equal [version, cipher, true], told(server, "/#{version}/second")
        end
      end
    end

    define_method("test_what_the_server_answers_itself_is_told_too_w#{workers}") do
      serving(workers) do |server|
        _, new = ask(server, "/small.txt", "TLSv1.3")
        _, old = ask(server, "/refused", "TLSv1.2", length: 1_001)
        assert_equal ["TLSv1.3", new, false], told(server, "/small.txt")
        assert_equal ["TLSv1.2", old, false], told(server, "/refused")
      end
    end
  end

  def test_http_2_and_plain_addresses
    serving(1) do |server|
      # curl chooses the cipher.
      system("curl", "-sk", "--http2", "#{server.url}/by-curl", out: File::NULL, exception: true)
      version, suite, resumed = told(server, "/by-curl")
      assert_equal ["TLSv1.3", false], [version, resumed]
      assert_match(/\ATLS_\w+\z/, suite)
      system("curl", "-s", "#{server.urls.last}/plain", out: File::NULL, exception: true)
      assert_empty FIELDS & entry(server, "/plain").keys
    end
  end

  private

  def serving(workers, &block)
    Dir.mktmpdir do |directory|
      File.write(File.join(directory, "small.txt"), "small")
      config = File.join(directory, "nb.rb")
      File.write(config, <<~SETTINGS)
        log_requests :json
        public_dir #{directory.inspect}
        limits { body_bytes 1_000 }
      SETTINGS
      serve(APP, workers: workers, binds: ["https://127.0.0.1:0", "http://127.0.0.1:0"],
                 options: ["-C", config], &block)
    end
  end

  # @return [Array(OpenSSL::SSL::Session, String)] for the next connection; the cipher
  def ask(server, path, version, session = nil, length: 0)
    one = TLSClient.new(server.url, session: session) do |context|
      context.min_version = context.max_version = VERSIONS.fetch(version)
    end
    one.write("GET #{path} HTTP/1.1\r\nHost: test\r\nContent-Length: #{length}\r\n\r\n")
    one.response
    [one.socket.session, one.socket.cipher.first]
  ensure
    one&.close
  end

  def entry(server, path)
    server.await_stderr(/^\{.*"target":"#{Regexp.escape(path)}".*\n/)
    line = server.stderr.lines.find { |text| text.include?("\"target\":\"#{path}\"") }
    JSON.parse(line)
  end

  def told(server, path)
    entry(server, path).values_at(*FIELDS)
  end
end
