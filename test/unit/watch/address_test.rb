# frozen_string_literal: true

require_relative "watch_case"
require "tmpdir"

class WatchAddressTest < WatchCase
  def find(*arguments)
    Dir.mktmpdir { |directory| Dir.chdir(directory) { Address.find(*arguments) } }
  end

  def test_the_one_that_is_named_goes_before_the_file
    assert_equal bind("http://127.0.0.1:9293"), find("http://127.0.0.1:9293", "nowhere.rb")
    assert_equal bind("unix:///run/a.sock"), find("unix:///run/a.sock", nil)
    assert_equal bind("http://[::1]:80"), find("http://[::1]:80/status.json", nil)
  end

  def test_without_any_the_line_says_how_to_switch_it_on
    error = assert_raises(NeverBlock::ConfigError) { find(nil, nil) }
    assert_operator error.message, :start_with?,
                    "no admin address: there is no config/neverblock.rb here. " \
                    "Start the server with --admin http://127.0.0.1:9293 "
    error = assert_raises(NeverBlock::ConfigError) { find(nil, "-") }
    assert_match(/no configuration file is read/, error.message)
  end

  def test_a_file_that_is_named_and_not_there_is_a_complaint
    error = assert_raises(NeverBlock::ConfigError) { find(nil, "nowhere.rb") }
    assert_match(/no configuration file .*nowhere\.rb/, error.message)
  end

  def test_a_file_that_cannot_be_read_is_got_round
    Dir.mktmpdir do |directory|
      file = File.join(directory, "c.rb")
      File.write(file, "fibers :many\n")
      error = assert_raises(NeverBlock::ConfigError) { find(nil, file) }
      assert_match(/fibers must .*; --admin http:\S+ asks without reading the file\z/,
                   error.message)
    end
  end

  def test_nonsense_is_answered_as_for_a_bind
    {
      "localhost:9293" => "cannot ask \"localhost:9293\": write http://localhost:9293",
      "http://127.0.0.1:0" => "the server prints the real one when it starts",
      "http://127.0.0.1:9293/metrics" => "remove what follows it",
      "" => "an address must be http://HOST:PORT"
    }.each do |text, words|
      assert_includes assert_raises(NeverBlock::ConfigError) { find(text, nil) }.message, words
    end
  end

  def test_a_server_on_every_address_is_asked_on_this_machines_own
    urls = %w[http://0.0.0.0:1 http://[::]:2 http://example.org:3]
    assert_equal [["127.0.0.1", 1], ["::1", 2], ["example.org", 3]],
                 (urls.map { |url| Address.host_and_port(bind(url)) })
  end
end
