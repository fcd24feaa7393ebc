# frozen_string_literal: true

require_relative "binding_case"
require_relative "../../support/certificates"

# Tests NeverBlock::TLSContext and Engine#listener_tls as Ruby objects: whatever they are given,
# they answer or raise. What they serve is test/integration's.
class TLSContextTest < BindingCase
  Context = NeverBlock::TLSContext
  AUTHORITY = Certificates.new
  GOOD = AUTHORITY.issue("a.test")
  DEFAULTS = [nil] * 6

  def setup
    skip "this build has no TLS" unless Context::LIBRARY
    super
  end

  def teardown
    @engines&.each(&:close)
    super if @log_file
  end

  BROKEN = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
  # What is wrong => the fault, and the arguments.
  WRONG = {
    "no certificate" => [:certificate, [["a.test"], "none", GOOD.key_pem]],
    "no key" => [:key, [["a.test"], GOOD.pem, "none"]],
    "the key of another" =>
      [:mismatch, [["a.test"], GOOD.pem, Certificates.key(:rsa).private_to_pem]],
    "a broken second certificate" => [:chain, [["a.test"], GOOD.pem + BROKEN, GOOD.key_pem]],
    "an empty name" => [:name, [[""], GOOD.pem, GOOD.key_pem]]
  }.freeze

  WRONG.each do |what, (fault, arguments)|
    define_method("test_#{what} is refused as #{fault}") do
      error = assert_raises(Context::Refused) { Context.new(*DEFAULTS).add(*arguments) }
      assert_equal fault, error.fault
      refute_includes error.message, "\n"
    end
  end

  def test_a_weak_key_is_refused_with_openssls_reason
    weak = AUTHORITY.issue("a.test", key: :weak)
    error = assert_raises(Context::Refused) do
      Context.new(*DEFAULTS).add(["a.test"], weak.pem, weak.key_pem)
    end
    assert_equal [:certificate, "ee key too small"], [error.fault, error.message]
  end

  def test_settings_that_openssl_does_not_have_are_refused_by_name
    { ciphers: 2, suites: 3, groups: 4 }.each do |fault, index|
      settings = DEFAULTS.dup.tap { |list| list[index] = "no-such" }
      assert_equal fault, assert_raises(Context::Refused) { Context.new(*settings) }.fault
    end
    error = assert_raises(Context::Refused) { Context.new(0x1234, nil, *[nil] * 4) }
    assert_equal :versions, error.fault
    assert_kind_of NeverBlock::Error, error
  end

  def test_every_kind_of_key_is_taken
    context = Context.new(0x0303, 0x0304, nil, nil, nil, "\x08http/1.1")
    %i[ec rsa ed25519].each do |kind|
      issued = AUTHORITY.issue("a.test", key: kind, intermediate: true)
      assert_same context, context.add(["a.test", "*.a.test"], issued.pem, issued.key_pem)
    end
  end

  def test_what_was_never_initialized_or_was_copied_cannot_be_used
    [Context.allocate, Context.new(*DEFAULTS).dup].each do |empty|
      assert_raises(NeverBlock::Error) { empty.add([], GOOD.pem, GOOD.key_pem) }
      assert_raises(NeverBlock::Error) { listening.listener_tls(0, empty) }
    end
    assert_raises(NeverBlock::Error) { Context.new(*DEFAULTS).send(:initialize, *DEFAULTS) }
  end

  NO_TEXTS = [3, :x, [], {}, Object.new, "x\0y"].freeze

  def test_arguments_of_a_wrong_type_are_refused
    NO_TEXTS.each do |wrong|
      assert_raises(TypeError, ArgumentError) { Context.new(nil, nil, wrong, nil, nil, nil) }
    end
    [-1, 1 << 16, 1.5, "3"].each do |wrong|
      assert_raises(TypeError, ArgumentError) { Context.new(wrong, *[nil] * 5) }
    end
    context = Context.new(*DEFAULTS)
    [["a", GOOD.pem, GOOD.key_pem], [[3], GOOD.pem, GOOD.key_pem], [[], nil, GOOD.key_pem],
     [[], GOOD.pem, nil]].each { |wrong| assert_raises(TypeError) { context.add(*wrong) } }
    assert_raises(NeverBlock::Error) { context.add(["a"] * 1025, GOOD.pem, GOOD.key_pem) }
  end

  # A compaction moves strings that nothing on a stack refers to.
  def test_texts_stay_where_they_are_until_they_are_used
    texts = %w[ECDHE-ECDSA-AES128-GCM-SHA256 TLS_AES_128_GCM_SHA256 P-256].map do |text|
      Naming.new(text)
    end
    GC.stress = true
    assert Context.new(nil, nil, *texts, Naming.new("\x08http/1.1"))
  ensure
    GC.stress = false
  end

  def test_an_argument_that_initializes_it_meanwhile
    context = Context.allocate
    again = Turning.new(0x0303, -> { context.send(:initialize, *DEFAULTS) })
    assert_raises(NeverBlock::Error) { context.send(:initialize, again, *[nil] * 5) }
    assert context.add(["a.test"], GOOD.pem, GOOD.key_pem)
  end

  # --- challenges

  def test_a_challenge_is_taken_or_refused_as_a_certificate_is
    context = Context.new(*DEFAULTS)
    assert_same context, context.add_challenge("a.test", GOOD.pem, GOOD.key_pem)
    error = assert_raises(Context::Refused) { context.add_challenge("a.test", GOOD.pem, "none") }
    assert_equal :key, error.fault
    assert_equal :name, assert_raises(Context::Refused) {
      context.add_challenge("", GOOD.pem, GOOD.key_pem)
    }.fault
    [[nil, GOOD.pem, GOOD.key_pem], ["a", 1, GOOD.key_pem], ["a", GOOD.pem, :key]].each do |wrong|
      assert_raises(TypeError) { context.add_challenge(*wrong) }
    end
    assert_raises(NeverBlock::Error) { Context.allocate.add_challenge("a", GOOD.pem, GOOD.key_pem) }
    assert_raises(NeverBlock::Error) do
      129.times { context.add_challenge("a.test", GOOD.pem, GOOD.key_pem) }
    end
  end

  def test_answers_to_challenges_may_be_set_at_any_time
    server = engine
    rows = [%w[token token.x], %w[other other.y]]
    assert_equal(rows, server.challenges = rows)
    server.send(:challenges=, [])
    [nil, "x", [1], [[1, 2]], [["a"]], [["a", nil]], [%w[a b].freeze, nil]].each do |wrong|
      assert_raises(TypeError, wrong.inspect) { server.challenges = wrong }
    end
    [["", "a"], ["../a", "b"], ["a", "b\r\n"], ["a" * 129, "b"], ["a", "b" * 257]].each do |wrong|
      assert_raises(ArgumentError, wrong.inspect) { server.challenges = [wrong] }
    end
    server.challenges = [%w[a b]] * 128
    assert_raises(NeverBlock::Error) { server.challenges = [%w[a b]] * 129 }
    server.close
    assert_raises(NeverBlock::Error) { server.challenges = [] }
  end

  # --- listeners

  def test_a_listener_gets_a_context_before_the_start_and_another_one_afterwards
    server = listening
    assert_equal 1, server.listeners
    2.times { assert_same server, server.listener_tls(0, usable) }
    server.start
    assert_same server, server.listener_tls(0, usable)
    server.stop_now
    assert server.join(SECONDS)
    assert_same server, server.listener_tls(0, usable), "nobody waits for a loop that has ended"
  end

  def test_a_listener_that_has_begun_without_stays_so
    server = listening.start
    assert_raises(NeverBlock::Error) { server.listener_tls(0, usable) }
    server.stop_now
    assert server.join(SECONDS)
  end

  def test_what_is_no_listener_is_refused
    server = listening
    assert_raises(NeverBlock::Error) { server.listener_tls(1, usable) }
    [nil, "0", -1, 1 << 16, 1.5].each do |wrong|
      assert_raises(TypeError, ArgumentError) { server.listener_tls(wrong, usable) }
    end
    assert_raises(TypeError) { server.listener_tls(0, Object.new) }
    server.close
    assert_raises(NeverBlock::Error) { server.listener_tls(0, usable) }
    assert_raises(NeverBlock::Error) { server.listeners }
  end

  # Conversions of arguments run the caller's code before the server is looked at.
  def test_an_argument_that_closes_the_engine_while_it_is_read
    victim = listening
    assert_raises(NeverBlock::Error) do
      victim.listener_tls(Turning.new(0, -> { victim.close }), usable)
    end
  end

  private

  def usable
    Context.new(*DEFAULTS).add(["a.test"], GOOD.pem, GOOD.key_pem)
  end

  def listening
    engine.tap { |made| made.listen_tcp("127.0.0.1", 0, 8) }
  end
end
