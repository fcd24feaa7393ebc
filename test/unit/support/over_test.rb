# frozen_string_literal: true

# What NB_TEST_OVER switches: addresses, the words for curl, and which tests are skipped.

require "test_helper"
require "open3"
require "support/over"

class OverTest < Minitest::Test
  # @return [String] what the expression is in a process with this mode
  def in_mode(mode, expression)
    program = "require 'test_helper'; require 'support/over'; Minitest.seed = 1; " \
              "print(#{expression}); exit!"
    out, err, = Open3.capture3({ "NB_TEST_OVER" => mode }, RbConfig.ruby, "-Itest", "-e", program,
                               chdir: File.expand_path("../../..", __dir__))
    out + err
  end

  def test_a_server_gets_its_addresses_as_the_mode_says
    url = "http://127.0.0.1:0"
    assert_equal url, in_mode("plain", "Over.bind(#{url.inspect})")
    %w[tls h2].each do |mode|
      assert_match(%r{\Ahttps://127\.0\.0\.1:0\?cert=/\S+/cert\.pem&key=/\S+/key\.pem\z},
                   in_mode(mode, "Over.bind(#{url.inspect})"))
      %w[unix:///x.sock https://127.0.0.1:0].each do |other|
        assert_equal other, in_mode(mode, "Over.bind(#{other.inspect})")
      end
    end
  end

  def test_without_a_mode_it_is_plain_and_an_unknown_one_is_refused
    assert_equal "plain", in_mode(nil, "Over.mode")
    assert_match(/NB_TEST_OVER is "h3"; it takes plain, tls, h2/, in_mode("h3", "Over.mode"))
  end

  def test_curl_speaks_what_the_mode_says
    {
      "plain" => %w[--http1.1 --http1.1], "tls" => %w[--http1.1 --http1.1],
      "h2" => %w[--http2-prior-knowledge --http2]
    }.each do |mode, words|
      asked = "%w[http https].map { |scheme| Over.curl(scheme + '://a/').last }"
      assert_equal words.inspect, in_mode(mode, asked), mode
    end
  end

  # Each way to say what a test is about, and a class that descends. One skip stands for a class.
  SAMPLE = <<~RUBY
    Sample = Class.new(Minitest::Test) do
      define_method(:test_a) { only_over(:plain, "this") }
      define_method(:test_b) { only_over(:plain, :tls, "that") }
      define_method(:test_c) { assert true }
    end
    Whole = Class.new(Minitest::Test) do
      only_over :h2, "frames"
      define_method(:test_d) { assert true }
      define_method(:test_e) { assert true }
    end
    Child = Class.new(Whole)
  RUBY

  def test_what_is_about_another_mode_is_skipped_with_its_reason
    {
      "plain" => [nil, nil, nil, "only over h2: frames", "only over h2: frames"],
      "tls" => ["only over plain: this", nil, nil, "only over h2: frames", "only over h2: frames"],
      "h2" => ["only over plain: this", "only over plain and tls: that", *[nil] * 5]
    }.each do |mode, reasons|
      runs = "[Sample, Whole, Child].flat_map { |one| one.runnable_methods.sort.map " \
             "{ |name| one.new(name).run.failure&.message } }"
      assert_equal reasons.inspect, in_mode(mode, "begin; #{SAMPLE}; #{runs}; end"), mode
    end
  end

  def test_a_mode_that_there_is_not_is_an_error_of_the_test
    sample = Class.new(Minitest::Test) { define_method(:test_a) { only_over(:spdy, "no") } }
    assert_match(/only_over takes \[:plain, :tls, :h2\], not \[:spdy\]/,
                 sample.new(:test_a).run.failure.message)
  end
end
