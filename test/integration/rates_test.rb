# frozen_string_literal: true

# Rates of files over HTTP/1.1: how much work a download that is held back makes, and the lowest
# rates.

require_relative "../support/http_client"
require_relative "../support/served_folder"
require_relative "../support/server_process_case"

class RatesTest < ServerProcessCase
  ALGORITHMS = %w[auto sba eba enba].freeze
  RATE = 1_000_000
  # Bytes that a step sends at least, but for the last ones and where the socket is full
  # (core/send/pace.h, NB_PACE_LEAST_NS).
  LEAST = 12_500
  FILM = Random.new(7).bytes(300_000).freeze

  def self.app
    "run(->(_) { [200, { 'content-type' => 'text/plain' }, ['hello']] })\n"
  end

  def self.server_options
    folder = ServedFolder.new("drip.bin" => FILM)
    ALGORITHMS.each { |name| folder.write("#{name}.bin", FILM) }
    configuration = folder.beside("neverblock.rb")
    File.write(configuration, <<~RUBY)
      public_dir #{folder.path.inspect}
      route "/drip.bin", rate: 1
      #{ALGORITHMS.map { |name| %(route "/#{name}.bin", algorithm: :#{name}, rate: #{RATE}) }.join("\n")}
    RUBY
    { options: ["--admin", "http://127.0.0.1:0", "-C", configuration] }
  end

  def bursts(algorithm)
    document = JSON.parse(HTTPClient.get(URI("#{server.admin_url}/status.json")))
    document.dig("downloads", "algorithms", algorithm, "bursts_total")
  end

  ALGORITHMS.each do |name|
    define_method(:"test_a_download_by_#{name}_that_is_held_back_takes_few_steps") do
      before = bursts(name)

      assert_equal FILM, ask("/#{name}.bin").body
      assert_operator bursts(name) - before, :<=, FILM.bytesize / LEAST + 24
    end
  end

  def test_a_byte_a_second_comes
    connect do |client|
      client.get("/drip.bin")

      assert_match %r{\AHTTP/1\.1 200 }, client.take_line
      client.abort
    end
  end
end
