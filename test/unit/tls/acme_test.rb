# frozen_string_literal: true

# When certificates are asked for, and what is said, with a clock and an issuance of the test's own.

require_relative "../../support/fake_native"
require_relative "../../support/certificates"
require_relative "../../support/patience"
require "neverblock/config"
require "neverblock/tls/acme"

class AcmeManagerTest < Minitest::Test
  TLS = NeverBlock::TLS
  Failed = TLS::Acme::Failed
  DAY = 86_400
  AUTHORITY = Certificates.new

  class Clock
    attr_accessor :now

    def initialize
      @now = Time.now
    end
  end

  # What listeners are told.
  class Listeners
    attr_reader :renewals
    attr_accessor :challenges

    def renew
      @renewals = @renewals.to_i + 1
    end
  end

  # Issues what `results` says: a certificate's days, or an error.
  class Issuances
    attr_reader :made, :calls, :results, :times
    attr_accessor :pause

    def initialize(clock)
      @clock = clock
      @made = []
      @calls = []
      @results = Thread::Queue.new
      @times = []
    end

    def new(order, _folder, _answers, kinds, pause)
      @made << [order, kinds]
      @pause = pause
      @order = order
      self
    end

    def call(replaced)
      @calls << replaced
      result = @results.pop
      result = result.call if result.is_a?(Proc)
      raise result if result.is_a?(Exception)

      issued = AUTHORITY.issue(*@order.names, from: @clock.now, till: @clock.now + (result * DAY))
      issued.key_pem + issued.pem
    end

    def renewal_times(_kept)
      result = @times.shift
      raise result if result.is_a?(Exception)

      result || [nil, nil]
    end
  end

  def setup
    @folder = Dir.mktmpdir("acme")
    @clock = Clock.new
    @listeners = Listeners.new
    @issuances = Issuances.new(@clock)
    @log = FakeNative::Log.new
    @order = order("a.test")
  end

  def teardown
    @issuances.results.close
    @acme&.close
    FileUtils.rm_rf(@folder)
  end

  # --- when

  def test_it_is_asked_for_at_once_and_renewed_when_a_third_is_left
    issue 90
    assert_equal [nil], @issuances.calls
    assert_equal 1, @listeners.renewals
    assert_match(/info: acme: a\.test: certificate issued by test authority, valid until .* UTC, /,
                 @log.text)
    @clock.now += 59 * DAY
    acme.attend
    assert_equal 1, @issuances.calls.size
    @clock.now += 2 * DAY
    issue 90
    assert_equal 2, @issuances.calls.size
    assert_kind_of TLS::Acme::Kept, @issuances.calls.last
  end

  def test_a_kept_certificate_is_not_asked_for
    keep(60)
    acme.attend
    assert_empty @issuances.calls
    assert_empty @log.text
  end

  def test_the_acme_servers_time_of_renewal_counts
    keep(60)
    @issuances.times << [@clock.now + (3 * DAY), @clock.now + (2 * DAY)]
    acme
    @clock.now += 7 * 3_600 # the first question is due
    now = @clock.now
    assert_in_delta now + DAY, acme.attend, 1, "asked again within a day, whatever it says"
    @clock.now += 2 * DAY
    @issuances.times << [now + (2 * DAY), nil]
    issue 90
    assert_equal 1, @issuances.calls.size
  end

  # Each look is followed by a wait, whatever the ACME server says.
  def test_a_time_of_renewal_that_is_later_than_ours_counts_too
    keep(31)
    @issuances.times << [@clock.now + (20 * DAY), nil]
    acme
    @clock.now += 7 * 3_600
    acme.attend
    @issuances.times << [@clock.now + (20 * DAY), nil]
    @clock.now += 5 * DAY # a third is left
    assert_operator acme.attend, :>, @clock.now
    assert_empty @issuances.calls
    @clock.now += 21 * DAY
    issue 90
    assert_equal 1, @issuances.calls.size
  end

  def test_a_server_that_does_not_say_when_to_renew_changes_nothing
    keep(60)
    @issuances.times << Failed.new("no")
    acme
    @clock.now += 7 * 3_600
    assert_in_delta @clock.now + (6 * 3_600), acme.attend, 1
    assert_empty @issuances.calls
    assert_empty @log.text
  end

  def test_an_answer_about_the_renewal_that_cannot_be_read_is_told_and_changes_nothing
    keep(60)
    @issuances.times << JSON::ParserError.new("unexpected end\nof input")
    acme
    @clock.now += 7 * 3_600
    assert_in_delta @clock.now + (6 * 3_600), acme.attend, 1
    assert_match(/acme: a\.test: when to renew is not known: JSON::ParserError: unexpected end; /,
                 @log.text)
    refute_match(/no certificate/, @log.text)
    refute File.exist?(kept_time)
  end

  def test_a_certificate_of_minutes_is_not_asked_for_without_end
    issue 0.0001
    assert_equal @clock.now + 60, next_time
  end

  # --- failures

  def test_a_failure_is_told_and_tried_again_later_and_later
    issue Failed.new("no route")
    first = next_time
    assert_includes (@clock.now + 120)..(@clock.now + 150), first
    assert_match(/warning: acme: a\.test: no certificate: no route; next try at .* UTC; a self-/,
                 @log.text)
    acme.attend
    assert_equal 1, @issuances.calls.size
    @clock.now = first
    issue Failed.new("no route")
    assert_operator next_time - @clock.now, :>=, 240
    @clock.now = next_time
    issue 90
    assert_match(/certificate issued/, @log.text)
  end

  # As on a machine without a clock, before NTP has set it.
  def test_a_failure_before_the_clock_is_set_back_is_tried_again_within_a_week
    right = @clock.now
    @clock.now += 12 * 365 * DAY
    issue Failed.new("certificate has expired")
    @clock.now = right
    assert_equal right + (7 * DAY), acme.attend
    @clock.now += 8 * DAY
    issue 90
    assert_equal 2, @issuances.calls.size
  end

  def test_a_certificate_that_was_kept_before_the_clock_is_set_back_is_looked_at_within_a_week
    keep(60)
    right = @clock.now
    @clock.now += 60
    acme.attend
    @clock.now = right - (365 * DAY)
    assert_operator acme.attend, :<=, @clock.now + (7 * DAY)
    task = acme.instance_variable_get(:@tasks).first
    assert_operator task.ask_at, :<=, @clock.now + DAY
  end

  def test_the_acme_servers_time_is_believed_for_a_week
    issue Failed.new("later", @clock.now + (4_000 * DAY))
    assert_equal @clock.now + (7 * DAY), next_time
    assert_equal next_time, acme.tap { |one| one.send(:hurry) }.attend
  end

  def test_a_failed_renewal_leaves_the_old_one
    keep(10)
    before = File.read(@order.files.cert)
    issue Failed.new("not now", @clock.now + (2 * DAY))
    assert_equal before, File.read(@order.files.cert)
    assert_nil @listeners.renewals
    assert_equal @clock.now + (2 * DAY), next_time
    assert_match(/the old one is served, which is valid until/, @log.text)
  end

  def test_an_unexpected_error_is_told_with_its_class_and_harms_nothing
    issue IOError.new("odd\nmore")
    assert_match(/no certificate: IOError: odd; next/, @log.text)
    @clock.now = next_time
    issue 90
    assert File.exist?(@order.files.cert)
  end

  def test_a_full_disk_is_told
    folder = acme.instance_variable_get(:@tasks).first.folder
    folder.stub(:write, ->(*) { raise Errno::ENOSPC }) { issue 90 }
    assert_match(/no certificate: Errno::ENOSPC: No space left/, @log.text)
  end

  # --- failures before a start

  def test_a_restart_waits_as_the_server_before_it_would_have
    issue Failed.new("no route")
    expected = next_time
    again
    assert_in_delta expected, acme.attend, 1
    assert_equal 1, @issuances.calls.size
    assert_match(/warning: acme: a\.test: no certificate: the last try has failed before this /,
                 @log.text)
    assert_match(/next try at .* UTC \(#{kept_time}\), HUP tries at once; a self-signed/, @log.text)
    @clock.now = next_time + 1
    issue Failed.new("no route")
    assert_operator next_time - @clock.now, :>=, 240
    again
    @clock.now = next_time + 1
    issue 90
    refute File.exist?(kept_time)
  end

  def test_the_acme_servers_time_holds_after_a_restart
    issue Failed.new("limit", @clock.now + (2 * DAY))
    again
    assert_in_delta @clock.now + (2 * DAY), acme.attend, 1
    acme.ask
    assert_in_delta @clock.now + (2 * DAY), acme.tap { |one| one.send(:hurry) }.attend, 1
    assert_match(/, as the ACME server wants it; /, @log.text)
  end

  def test_a_server_that_died_while_it_asked_counts_as_a_failure
    @issuances.results << -> { throw :killed }
    catch(:killed) { acme.attend }
    again
    assert_includes (@clock.now + 119)..(@clock.now + 150), acme.attend
  end

  def test_a_server_that_was_stopped_while_it_asked_does_not
    @issuances.results << -> { @issuances.pause.call(3_600) || 90 }
    acme.start
    Patience.await("the pause") { @issuances.results.empty? && named_thread.status == "sleep" }
    acme.close
    refute File.exist?(kept_time)
  end

  # A time in a file is none that a clock of another year has made.
  def test_what_is_kept_is_not_believed_blindly
    FileUtils.mkdir_p(@order.folder)
    other = '{"names":["b.test"],"failures":1,"next_try":"2999-01-01T00:00:00Z"}'
    ["", "{", "[]", "{}", '{"names":["a.test"],"failures":"x"}', other].each do |text|
      File.write(kept_time, text)
      again
      issue Failed.new("no")
      assert_in_delta 135, next_time - @clock.now, 20, text
    end
    File.write(kept_time, '{"names":["a.test"],"failures":99,"next_try":"2999-01-01T00:00:00Z"}')
    again
    assert_equal @clock.now + (7 * DAY), acme.attend
  end

  def test_a_time_that_cannot_be_kept_is_told
    folder = acme.instance_variable_get(:@tasks).first.folder
    folder.stub(:write, ->(*) { raise Errno::ENOSPC }) { issue 90 }
    assert_match(/the time of the next try cannot be kept: No space left/, @log.text)
  end

  # --- several

  def test_one_that_fails_does_not_keep_the_others
    @orders = [@order, order("b.test")]
    @issuances.results << Failed.new("no") << 90
    acme.attend
    assert_match(/a\.test: no certificate/, @log.text)
    assert_match(/b\.test: certificate issued/, @log.text)
  end

  def test_another_server_that_shares_the_folder_asks_alone
    acme
    folder = TLS::Acme::Folder.new(@order.folder)
    folder.alone { assert_equal @clock.now + 10, acme.attend }
    assert_empty @issuances.calls
    keep(60)
    @clock.now += 10
    acme.attend
    assert_empty @issuances.calls, "the other server has it"
  end

  def test_what_another_server_has_just_issued_is_not_asked_for_again
    keep(10)
    acme
    folder = acme.instance_variable_get(:@tasks).first.folder
    alone = folder.method(:alone)
    taken = lambda do |&block|
      keep(60)
      alone.call(&block)
    end
    folder.stub(:alone, taken) { acme.attend }
    assert_empty @issuances.calls
  end

  # --- the thread

  def test_the_thread_does_it_and_tries_at_once_when_asked
    acme.start
    @issuances.results << Failed.new("no")
    Patience.await("the failure") { @log.text.include?("no certificate") }
    @issuances.results << 90
    acme.ask
    Patience.await("the certificate") { @log.text.include?("certificate issued") }
  end

  def test_close_ends_a_pause_of_the_issuance
    @issuances.results << -> { @issuances.pause.call(3_600) || 90 }
    acme.start
    thread = named_thread
    Patience.await("the pause") { @issuances.results.empty? && thread.status == "sleep" }
    acme.close
    refute_predicate thread, :alive?
    refute File.exist?(@order.files.cert)
  end

  def test_close_does_not_wait_for_a_server_that_does_not_answer
    acme.start # nobody gives it a result
    thread = named_thread
    Patience.await("the question") { @issuances.results.num_waiting == 1 }
    acme.close
    refute_predicate thread, :alive?
    assert(TLS::Acme::Folder.new(@order.folder).alone { nil }, "the lock is free")
  end

  # --- what is needed

  def test_challenges_by_the_addresses
    plain, secure = %w[http://a:80 https://a:443].map { |url| NeverBlock::Config::Bind.parse(url) }
    assert_equal %i[http_01 tls_alpn_01], TLS::Acme.kinds(@order, [secure, plain])
    assert_equal %i[tls_alpn_01], TLS::Acme.kinds(@order, [secure])
    assert_equal %i[http_01], TLS::Acme.kinds(order("a.test", challenge: :http_01), [secure, plain])
  end

  def test_addresses_that_do_not_fit_are_told_with_the_mend
    { %w[http://a:80] => /has no address to serve: bind one without cert=FILE: https:/,
      %w[http://a:80 https://a:443?cert=x] => /has no address to serve/ }.each do |binds, message|
      @binds = binds
      assert_match(message, assert_raises(NeverBlock::StartError) { make }.message)
    end
    @binds = %w[https://a:443]
    @orders = [order("a.test", challenge: :http_01)]
    error = assert_raises(NeverBlock::StartError) { make }
    assert_equal "tls { acme challenge: :http_01 } needs a plain address: bind one: " \
                 "http://0.0.0.0:80", error.message
  end

  def test_a_missing_gem_is_told_with_the_mend
    assert_nil TLS::Acme.missing
    line = TLS::Acme.missing(-> { raise LoadError, "cannot load such file -- acme-client" })
    assert_equal 'tls { acme } needs the gem acme-client; add it to the Gemfile: gem "acme-client"',
                 line
    TLS::Acme.stub(:missing, line) do
      assert_equal line, assert_raises(NeverBlock::StartError) { make }.message
    end
  end

  def test_without_acme_nothing_is_wanted
    refute TLS::Acme.wanted?(NeverBlock::Config.new)
    assert TLS::Acme.wanted?(config)
  end

  private

  def order(*names, **words)
    NeverBlock::Config::Acme.new(names, folder: @folder, **words)
  end

  def config
    secure = NeverBlock::Config::Secure.new(acme: @orders || [@order])
    NeverBlock::Config.new(binds: @binds || %w[http://127.0.0.1:80 https://127.0.0.1:443],
                           secure: secure)
  end

  def make
    TLS::Acme.new(Object.new, @listeners, config, @log, issuance: @issuances, clock: @clock)
  end

  def acme
    @acme ||= make
  end

  # The server is started again.
  def again
    @acme = nil
  end

  def kept_time
    @order.files.cert.sub(/pem\z/, "next_try")
  end

  def issue(result)
    @issuances.results << result
    @next = acme.attend
  end

  def next_time
    @next
  end

  # A certificate that is valid for so many days of 90 from now on.
  def keep(days)
    FileUtils.mkdir_p(@order.folder)
    issued = AUTHORITY.issue(*@order.names, from: @clock.now - ((90 - days) * DAY),
till: @clock.now + (days * DAY))
    File.write(@order.files.cert, issued.key_pem + issued.pem)
  end

  def named_thread
    Patience.await("the thread") { Thread.list.find { |one| one.name == "nb-acme" } }
  end
end
