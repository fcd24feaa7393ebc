# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock"
require "neverblock/check/probe"
require "rack"
require "rack/builder"

# The probe asks twice to see what a request leaves behind. The recorder stays in Thread and Dir,
# so each case runs in a process of its own.
class CheckProbeTest < Minitest::Test
  Check = NeverBlock::Check

  # A class of the application, and what its requests do to it.
  class Page
    class << self
      attr_accessor :hits

      def show(env)
        @current = env
        @memo ||= Object.new
        @seen ||= []
        @seen << env["PATH_INFO"]
      end
    end

    def self.last(env)
      @@last = env
    end
  end

  # An application's names for what Module has as well.
  class Quiz
    class << self
      def name = raise("no quiz")
      alias method name
      alias instance_method name
      alias instance_methods name
      alias singleton_methods name
      alias instance_variables name
      alias instance_variable_get name
      alias class_variables name
      alias class_variable_get name
      alias singleton_class? name

      def start(env)
        @question = env
        @@answer = env
      end
    end
  end

  # The class variable of a class whose ancestor gets one of that name later.
  module Overtaking
    Above = Class.new

    class Below < Above
      @@theme = 1
      @@last = nil

      def self.last(env)
        @@last = env
      end
    end

    Above.class_variable_set(:@@theme, 2)
  end

  # Values with methods of their own.
  class Rows < Array
    def size = raise("not loaded")
    def equal?(_other) = raise("not loaded")
  end

  class << Rows
    attr_accessor :current
  end

  # What a request does => what is found.
  CASES = {
    "nothing" => [->(_env) {}, []],
    "a thread variable, which is a request's own" => [
      ->(_env) { Thread.current.thread_variable_set(:tenant, 1) }, []
    ],
    "a fiber's variable" => [->(_env) { Thread.current[:tenant] = 1 }, []],
    "a global" => [
      ->(_env) { $neverblock_who = 1 },
      [["state-global", :warning, /sets \$neverblock_who each time \(.*probe_test\.rb:\d+\)/]]
    ],
    "standard output" => [
      ->(_env) { $stdout = $stdout.dup }, [["state-global", :warning, /sets \$stdout/]]
    ],
    "a match, which is a frame's own" => [->(env) { env["PATH_INFO"] =~ /x/ }, []],
    "the folder" => [->(_env) { Dir.chdir(Dir.pwd) }, [["state-folder", :warning, /Dir\.chdir/]]],
    # The numbers in these patterns are lines of this file.
    "variables of a class" => [
      ->(env) { Page.show(env) },
      [
        [
          "state-class", :warning,
          /changes CheckProbeTest::Page\.@current each time \(.*probe_test\.rb:20\)/
        ],
        [
          "state-class", :warning,
          /changes CheckProbeTest::Page\.@seen each time \(.*probe_test\.rb:22\)/
        ]
      ]
    ],
    "an accessor of a class" => [
      ->(_env) { Page.hits = Page.hits.to_i + 1 },
      [["state-class", :warning, /Page\.@hits each time \(.*probe_test\.rb:15\)/]]
    ],
    "a class variable" => [
      ->(env) { Page.last(env) },
      [["state-class", :warning, /Page\.@@last each time \(.*probe_test\.rb:28\)/]]
    ],
    "a class with methods of its own in the place of Ruby's" => [
      ->(env) { Quiz.start(env) },
      [
        ["state-class", :warning, /Quiz\.@question each time \(.*probe_test\.rb:\d+\)/],
        ["state-class", :warning, /Quiz\.@@answer each time \(.*probe_test\.rb:\d+\)/]
      ]
    ],
    "a class variable beside one that cannot be read" => [
      ->(env) { Overtaking::Below.last(env) },
      [["state-class", :warning, /Below\.@@last each time/]]
    ],
    "a container with a size of its own" => [
      ->(_env) { Rows.current = Rows.new },
      [["state-class", :warning, /Rows\.@current each time/]]
    ],
    "an error" => [
      ->(_env) { raise "no table" },
      [["probe", :note, %r{\AGET / raises RuntimeError: no table}]]
    ],
    "an error with bytes that are no text" => [
      ->(_env) { raise "no table \xFF" },
      [["probe", :note, %r{\AGET / raises RuntimeError: no table \?:}]]
    ],
    "an error whose message raises" => [
      ->(_env) { raise Class.new(StandardError) { def message = raise("none") } },
      [["probe", :note, %r{\AGET / raises .*: its message raised RuntimeError}]]
    ],
    "an error that is no StandardError" => [
      ->(_env) { raise NotImplementedError, "later" },
      [["probe", :note, /raises NotImplementedError/]]
    ]
  }.freeze

  CASES.each do |name, (work, expected)|
    define_method("test_#{name}") do
      found = probe(["/"]) do |env|
        work.call(env)
        [200, {}, ["ok"]]
      end
      found.reject! { |finding| finding.rule == "state-gems" } # minitest's and the like
      assert_equal expected.map { |rule, level,| [rule, level] },
                   found.map { |finding| [finding.rule, finding.level] },
                   found.map(&:seen).inspect
      expected.zip(found) { |(_, _, pattern), finding| assert_match pattern, finding.seen }
    end
  end

  def test_an_answer_that_is_none_is_told_with_its_status
    assert_match(%r{\AGET /gone answers 404}, probe(["/gone"]) { [404, {}, []] }.first.seen)
  end

  def test_a_redirect_is_told_with_its_status_and_target
    found = probe(["/"]) { [302, { "location" => "/login" }, []] }
    assert_equal ["probe"], found.map(&:rule)
    assert_match(%r{\AGET / answers 302, a redirect to /login: the writes of a successful },
                 found.first.seen)
  end

  # As Rails' host authorization in development.
  def test_a_request_has_what_a_client_sends
    found = probe(["/"]) do |env|
      wanted = env["HTTP_HOST"] == "localhost" && env["HTTP_USER_AGENT"] && env["HTTP_ACCEPT"]
      [wanted ? 200 : 403, {}, []]
    end
    assert_empty(found.map(&:rule) - ["state-gems"])
  end

  # As Rails' force_ssl and Rack::SSL do.
  def test_what_is_redirected_to_https_is_asked_for_by_https
    secure = lambda do |env|
      next [301, { "Location" => "https://localhost/" }, []] unless env["HTTPS"] == "on"

      Page.last(env)
      [200, {}, [env["rack.url_scheme"]]]
    end
    assert_equal(["state-class"], probe(["/"], &secure).map(&:rule) - ["state-gems"])
    found = probe(["/"]) { [301, { "location" => "https://www.localhost/" }, []] }
    assert_match(%r{\AGET / answers 301, a redirect to https://www\.localhost/}, found.first.seen)
  end

  # What a response is, and what is told of it.
  NO_RESPONSES = {
    "nothing" => [nil, /answers nothing/],
    "no status" => [[:ok, {}, []], /answers :ok/],
    "a status of a server's own" => [[-1, {}, []], /answers -1/]
  }.freeze

  NO_RESPONSES.each do |name, (response, seen)|
    define_method("test_a_response_of_#{name}_is_told") do
      assert_match(seen, probe(["/"]) { response }.first.seen)
    end
  end

  def test_a_body_that_cannot_be_closed_is_a_finding_and_the_next_path_is_asked_for
    body = Class.new do
      def each = yield("x")
      def close = raise("still open")
    end
    found = probe(%w[/ /gone]) do |env|
      env["PATH_INFO"] == "/" ? [200, {}, body.new] : [404, {}, []]
    end
    assert_match(%r{\AGET / raises RuntimeError: still open}, found.first.seen)
    assert_match(%r{\AGET /gone answers 404}, found.last.seen)
  end

  def test_a_body_that_cannot_be_read_is_closed
    body = Struct.new(:close_it) do
      def each = raise("cannot be read")
      def close = close_it.call
    end
    closed = in_child do
      count = 0
      Check::Probe.new(->(_env) { [200, {}, body.new(-> { count += 1 })] }, ["/"]).run
      count
    end
    assert_equal Check::Probe::WARM + Check::Probe::RECORDED, closed
  end

  def test_waits_of_a_request_are_waited_for_and_its_body_is_read_and_closed
    closed = 0
    body = Struct.new(:close_it) do
      def each = yield(sleep(0.001).to_s)
      def close = close_it.call
    end
    asked = in_child do
      Check::Probe.new(->(_env) { [200, {}, body.new(-> { closed += 1 })] }, ["/"]).run
      closed
    end
    assert_equal Check::Probe::WARM + Check::Probe::RECORDED, asked
  end

  def test_what_is_done_is_told_before_it_is_done
    stages = in_child do
      told = []
      app = ->(_env) { [200, {}, []] }
      Check::Probe.new(app, %w[/a /b], stage: told.method(:push)).run
      told
    end
    assert_equal ["sending GET /a", "sending GET /b"], stages
  end

  def test_without_rails_the_root_is_asked_for
    assert_equal ["/"], Check::Probe::Routes.paths
  end

  private

  def probe(paths, &app)
    root = File.expand_path("../../..", __dir__)
    found = in_child { Check::Probe.new(app, paths, root: root).run.map(&:to_h) }
    found.map { |finding| Check::Finding.new(**finding) }
  end

  # @return what the block returns there
  def in_child
    reader, writer = IO.pipe
    pid = fork do
      reader.close
      $stderr.reopen(File::NULL)
      writer.write(Marshal.dump(yield))
    ensure
      writer.close
      exit!(0)
    end
    writer.close
    Marshal.load(reader.read) # rubocop:disable Security/MarshalLoad
  ensure
    Process.wait(pid)
    reader.close
  end
end
