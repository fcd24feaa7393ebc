# frozen_string_literal: true

# Libraries in C that call Ruby: requests in the middle of one another's callbacks have each its own answer, with slices on, beside requests that compute.

require "stringio"
require "tmpdir"

require_relative "../support/app_callbacks"
require_relative "../support/server_process_case"

class CallbacksTest < ServerProcessCase
  AT_ONCE = 20
  ROUNDS = 3
  HOGS = 4

  NAMES = %w[file gzip input streamed socket sax reader xpath sorted sqlite].freeze
  # They post their document.
  POSTED = %w[input streamed].freeze

  class << self
    def app
      <<~RACKUP
        require "#{File.expand_path("app_callbacks", "#{__dir__}/../support")}"
        callbacks = Callbacks.new("#{folder}")
        run(->(env) { callbacks.call(env["PATH_INFO"] == "/streamed" ? env.merge("PATH_INFO" => "/input") : env) })
      RACKUP
    end

    def server_options
      { options: ["-C", configuration] }
    end

    def folder
      @folder ||= Dir.mktmpdir("neverblock-callbacks").tap { |made| Minitest.after_run { FileUtils.rm_rf(made) } }
    end

    def configuration
      File.join(folder, "neverblock.rb").tap do |file|
        File.write(file, "executor { slice_ms 2 }\nroute \"/streamed\", input: :stream\n")
      end
    end
  end

  # Before threads ask it.
  def setup
    server
  end

  NAMES.each do |name|
    define_method("test_each_has_its_own_#{name}") do
      ROUNDS.times { assert_equal expected(name), answers(name) }
    end

    define_method("test_each_has_its_own_#{name}_beside_requests_that_compute") do
      hogs = Array.new(HOGS) { Thread.new { parsed(ask("/hog?me=0")) } }
      assert_equal expected(name), answers(name)
      hogs.each(&:value)
    end
  end

  def test_documents_with_errors_have_them_and_others_have_none
    assert_equal [0, Callbacks::ERRORS] * (AT_ONCE / 2), expected("file")
  end

  private

  # What a thread answers.
  def expected(name)
    here = Callbacks.new(self.class.folder)
    answers = (0...AT_ONCE).map { |me| here.public_send(POSTED.include?(name) ? "input" : name, me, { "rack.input" => StringIO.new(document(me)) }) }
    JSON.parse(JSON.generate(answers))
  end

  def answers(name)
    Array.new(AT_ONCE) do |me|
      Thread.new { parsed(POSTED.include?(name) ? ask("/#{name}?me=#{me}", method: "POST", body: document(me)) : ask("/#{name}?me=#{me}")) }
    end.map(&:value)
  end

  def document(me) = Callbacks.document(me, me.odd? ? Callbacks::ERRORS : 0)
end
