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
    "an error" => [
      ->(_env) { raise "no table" },
      [["probe", :note, %r{\AGET / raises RuntimeError: no table}]]
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
