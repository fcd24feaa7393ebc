# frozen_string_literal: true

# Libraries in C that call Ruby, with slices on, beside requests that compute. Requests in the
# middle of one another's callbacks each get their own answer.

require "stringio"
require "tmpdir"

require_relative "../support/app_callbacks"
require_relative "../support/server_process_case"

class CallbacksTest < ServerProcessCase
  AT_ONCE = 20
  ROUNDS = 3
  HOGS = 4

  NAMES = %w[
    file gzip input streamed socket fed fed_reader sax reader xpath sorted sorted_by_queue sqlite
  ].freeze
  # They post their document.
  POSTED = %w[input streamed].freeze

  class << self
    def app
      <<~RACKUP
        require "#{File.expand_path("app_callbacks", "#{__dir__}/../support")}"
        callbacks = Callbacks.new("#{folder}")
        run ->(env) do
          env = env.merge("PATH_INFO" => "/input") if env["PATH_INFO"] == "/streamed"
          callbacks.call(env)
        end
      RACKUP
    end

    def server_options
      { options: ["-C", configuration] }
    end

    def folder
      @folder ||= Dir.mktmpdir("neverblock-callbacks").tap do |made|
        Minitest.after_run { FileUtils.rm_rf(made) }
      end
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
    call = POSTED.include?(name) ? "input" : name
    answers = (0...AT_ONCE).map do |me|
      here.public_send(call, me, { "rack.input" => StringIO.new(document(me)) })
    end
    JSON.parse(JSON.generate(answers))
  end

  def answers(name)
    Array.new(AT_ONCE) do |me|
      Thread.new do
        if POSTED.include?(name)
          parsed(ask("/#{name}?me=#{me}", method: "POST", body: document(me)))
        else
          parsed(ask("/#{name}?me=#{me}"))
        end
      end
    end.map(&:value)
  end

  def document(me) = Callbacks.document(me, me.odd? ? Callbacks::ERRORS : 0)
end
