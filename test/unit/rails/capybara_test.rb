# frozen_string_literal: true

require_relative "../../support/unit"
require "net/http"
require "open3"
require "neverblock/capybara"

class CapybaraServerTest < Minitest::Test
  def test_it_is_a_server_by_its_name_that_serves_quietly_within_the_process_of_the_tests
    assert_same Capybara.servers[:neverblock], Capybara.server,
                "taken where nobody has chosen and Puma is not there"
    _, err = capture_subprocess_io do
      app = ->(env) { [200, {}, ["#{Process.pid} #{env["SERVER_SOFTWARE"]}"]] }
      server = Capybara::Server.new(app).boot
      assert_match(/\A#{Process.pid} neverblock/i, Net::HTTP.get(URI(server.base_url)))
    end
    assert_empty err
  end

  def test_it_ends_quietly_with_the_process_and_a_forked_one_ends_without_it
    library = File.expand_path("../../../lib", __dir__)
    said, status = Open3.capture2e(RbConfig.ruby, "-I", library, "-e", <<~RUBY)
      # Before any gem, of which there may be newer versions than the bundle's.
      require "bundler/setup"
      require "neverblock/capybara"
      require "net/http"
      server = Capybara::Server.new(->(env) { [200, {}, ["served"]] }).boot
      Process.wait(fork { })
      print Net::HTTP.get(URI(server.base_url))
    RUBY
    assert_equal ["served", 0], [said, status.exitstatus]
  end

  def test_a_choice_is_left_alone
    chosen = Capybara.server
    Capybara.server = :webrick
    NeverBlock::CapybaraServer.register
    assert_same Capybara.servers[:webrick], Capybara.server
  ensure
    Capybara.server = chosen
  end
end
