# frozen_string_literal: true

# Rates of files over HTTP/2: each download of a connection has its own, and one that is held back
# keeps no other response waiting.

require_relative "../support/http2_wire"
require_relative "../support/server_process_case"

class Http2RatesTest < ServerProcessCase
  only_over :plain, "they make their own frames, by prior knowledge"

  include Http2Wire
  include Http2Wire::Frames

  # At this rate a film takes hours.
  RATE = 1_000
  FILM = 20_000_000

  FOLDER = Dir.mktmpdir("neverblock-rates")
  FileUtils.mkdir(File.join(FOLDER, "public"))
  File.binwrite(File.join(FOLDER, "public", "film.bin"), "x" * FILM)
  File.binwrite(File.join(FOLDER, "public", "poster.bin"), "y" * 300_000)
  Minitest.after_run { FileUtils.rm_rf(FOLDER) }

  CONFIGURATION = <<~RUBY
    route "/film.bin", rate: #{RATE}
    public_dir #{File.join(FOLDER, "public").inspect}
  RUBY

  def self.app
    "run(->(_) { [200, { 'content-type' => 'text/plain' }, ['hello']] })\n"
  end

  def self.server_options
    File.write(File.join(FOLDER, "config.rb"), CONFIGURATION)
    { options: ["-C", File.join(FOLDER, "config.rb")] }
  end

  def setup
    skip "this build has no HTTP/2" unless Http2Wire.spoken?(server.url)
  end

  # More than a connection's worth of bytes is due, and the others pass.
  def test_a_film_at_a_low_rate_keeps_no_other_response_waiting
    Client.open(server.url) do |client|
      client.send(PREFACE + settings({ INITIAL_WINDOW_SIZE => FILM }) + window_update(0, FILM))
      films = Array.new(3) { client.request("/film.bin") }
      films.each { |film| client.await(DATA, stream: film) }

      assert_equal "hello", client.response(client.request("/")).body
      assert_equal 300_000, client.response(client.request("/poster.bin")).body.bytesize
      films.each { |film| assert_operator client.seen(film).body.bytesize, :<, FILM / 10 }
    end
  end
end
