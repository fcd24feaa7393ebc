# frozen_string_literal: true

# An ACME server that answers as a test says, behind the gem's interface. The real one is in
# test/integration/acme_test.rb.

require_relative "../../../support/unit"
require_relative "../../../support/certificates"
require "acme-client"
require "neverblock/config"
require "neverblock/tls/acme"

class AcmeIssuanceTest < Minitest::Test
  TLS = NeverBlock::TLS
  AUTHORITY = Certificates.new
  NAMES = %w[a.test b.test].freeze
  Errors = ::Acme::Client::Error

  # Something of the server whose status is the next of `statuses` each time that it is looked at.
  class Resource
    attr_reader :status, :error, :looks
    attr_accessor :retry_after_time

    def initialize(*statuses, error: nil)
      @statuses = statuses
      @error = error
      @looks = 0
      @status = @statuses.shift
    end

    def reload
      @looks += 1
      @status = @statuses.shift || @status
    end
  end

  class Authorization < Resource
    attr_reader :domain, :challenges

    def initialize(domain, *statuses, types: %w[http-01 dns-01 tls-alpn-01], error: nil)
      super(*statuses)
      @domain = domain
      @types = types
      @detail = error
      @challenges = types.map { |type| Challenge.new(type, "token-#{domain}") }
    end

    def to_h
      { challenges: @types.map { |type|
        { "type" => type, "error" => @detail && { "detail" => @detail } }
      } }
    end
  end

  Challenge = Struct.new(:type, :token, :asked) do
    def key_authorization = "#{token}.x"
    def request_validation = self.asked = true
  end

  class Order < Resource
    attr_reader :authorizations
    # What is sent behind the certificate.
    attr_writer :more

    def initialize(authorizations, *statuses, error: nil, pem: nil)
      super(*statuses, error: error)
      @authorizations = authorizations
      @pem = pem
    end

    def finalize(csr:)
      @csr = csr
      reload
    end

    # Signed for the key that was sent, unless the test has another.
    def certificate
      return @pem if @pem

      AUTHORITY.issue(*@csr.names, key: @csr.private_key).pem + @more.to_s
    end
  end

  class Client
    attr_reader :accounts, :orders

    def initialize(*orders, info: nil)
      @given = orders
      @accounts = []
      @orders = []
      @info = info
    end

    def new_account(**words) = @accounts << words

    def new_order(**words)
      @orders << words
      found = @given.shift
      raise found if found.is_a?(Exception)

      found
    end

    def directory = self

    def endpoint_for(_key)
      @info or raise Errors::UnsupportedOperation
    end

    def renewal_info(certificate:) # rubocop:disable Lint/UnusedMethodArgument -- as the gem has it
      raise @info if @info.is_a?(Exception)

      @info
    end
  end

  Info = Struct.new(:suggested_renewal_time, :retry_after_time)

  # Notes which challenges are answered, in order.
  class Answers
    attr_reader :asked

    def while_asked(kind, challenges)
      (@asked ||= []) << [kind, challenges.keys]
      yield
    end
  end

  def setup
    @folder = Dir.mktmpdir("acme-issuance")
    @words = { folder: @folder, directory: "https://ca.test/dir" }
    @answers = Answers.new
    @pauses = []
  end

  def teardown
    FileUtils.rm_rf(@folder)
  end

  # --- what works

  def test_an_account_an_order_challenges_and_a_certificate
    client = Client.new(order(valid: %w[a.test], pending: %w[b.test]))
    pem = issue(client, email: "me@a.test")
    assert_equal [{ contact: ["mailto:me@a.test"], terms_of_service_agreed: true }], client.accounts
    assert_equal [{ identifiers: NAMES }], client.orders
    assert_equal [[:http_01, %w[b.test]]], @answers.asked, "a.test is validated already"
    assert OpenSSL::X509::Certificate.new(pem).check_private_key(OpenSSL::PKey.read(pem))
    assert_equal NAMES, TLS::Identity.names_of(OpenSSL::X509::Certificate.new(pem))
  end

  def test_without_an_email_there_is_no_contact
    client = Client.new(order(valid: NAMES))
    issue(client)
    assert_empty client.accounts.first[:contact]
    assert_nil @answers.asked, "all names are validated already"
  end

  def test_each_certificate_has_a_key_of_its_own
    keys = Array.new(2) { OpenSSL::PKey.read(issue(Client.new(order(valid: NAMES)))).to_der }
    refute_equal(*keys)
  end

  def test_the_next_challenge_is_tried_with_an_order_of_its_own
    failing = order(pending: %w[a.test], result: "invalid", error: "connection refused")
    client = Client.new(failing, order(pending: %w[a.test]))
    issue(client, kinds: %i[http_01 tls_alpn_01])
    assert_equal [[:http_01, %w[a.test]], [:tls_alpn_01, %w[a.test]]], @answers.asked
    assert_equal 2, client.orders.size
  end

  def test_looks_are_further_and_further_apart_unless_the_server_says
    issue(Client.new(Order.new([], *["pending"] * 8, "ready", "valid")))
    assert_equal [0.25, 0.5, 1, 2, 4, 5, 5, 5], @pauses
    @pauses.clear
    slow = Order.new([], "pending", "ready", "valid")
    slow.retry_after_time = Time.now + 30
    issue(Client.new(slow))
    assert_in_delta 30, @pauses.first, 2
    slow = Order.new([], "pending", "ready", "valid")
    slow.retry_after_time = Time.now + 86_400
    issue(Client.new(slow))
    assert_equal 60, @pauses.last
  end

  def test_the_next_certificate_names_the_one_that_it_replaces_where_the_server_knows_of_it
    client = Client.new(order(valid: NAMES), info: Info.new)
    issue(client, replaced: kept)
    assert_match(/\A[\w-]+\.[\w-]+\z/, client.orders.first.fetch(:replaces))
    client = Client.new(order(valid: NAMES))
    issue(client, replaced: kept)
    refute client.orders.first.key?(:replaces)
    client = Client.new(Errors::AlreadyReplaced.new("replaced"), order(valid: NAMES),
                        info: Info.new)
    issue(client, replaced: kept)
    assert_equal [true, false], (client.orders.map { |words| words.key?(:replaces) })
  end

  # Boulder calls it unauthorized where another account has the replaced certificate.
  def test_whatever_is_wrong_with_what_is_replaced_an_order_without_it_follows
    [Errors::Unauthorized, Errors::Malformed, Errors::NotFound, Errors].each do |kind|
      client = Client.new(kind.new("no"), order(valid: NAMES), info: Info.new)
      issue(client, replaced: kept)
      assert_equal [true, false], (client.orders.map { |words| words.key?(:replaces) })
    end
  end

  def test_what_says_nothing_of_what_is_replaced_is_asked_once
    [Errors::RateLimited.new("no", Time.now + 9), Errors::BadNonce.new("no"),
     Errors::Timeout.new].each do |error|
      client = Client.new(error, order(valid: NAMES), info: Info.new)
      assert_raises(TLS::Acme::Failed) { issue(client, replaced: kept) }
      assert_equal 1, client.orders.size
    end
  end

  def test_the_servers_times_of_renewal
    assert_equal [nil, nil], with(Client.new) { |one| one.renewal_times(kept) }
    times = [Time.utc(2030), Time.utc(2029)]
    assert_equal(times, with(Client.new(info: Info.new(*times))) { |one| one.renewal_times(kept) })
    error = assert_raises(TLS::Acme::Failed) do
      with(Client.new(info: Errors::NotFound.new("gone"))) { |one| one.renewal_times(kept) }
    end
    assert_match(/refuses: gone/, error.message)
  end

  # --- what fails

  FAILURES = {
    "a.test by HTTP-01: connection refused" =>
      -> { order(pending: %w[a.test], result: "invalid", error: "connection refused") },
    "a.test by HTTP-01: the ACME server calls it deactivated" =>
      -> { order(pending: %w[a.test], result: "deactivated") },
    "a.test: the ACME server does not offer HTTP-01" =>
      -> { order(pending: %w[a.test], types: %w[dns-01]) },
    "the validation of a.test is pending for" => -> {
      order(pending: %w[a.test], result: "pending")
    },
    "the order has failed: no more orders" =>
      -> { Order.new([], "pending", "invalid", error: { "detail" => "no more orders" }) },
    "the order has failed: the ACME server calls it invalid" =>
      -> { Order.new([], "ready", "processing", "invalid") },
    "the order is processing for" => -> { Order.new([], "ready", "processing") },
    "the ACME server has sent a certificate for another key" =>
      -> { order(valid: NAMES, pem: AUTHORITY.issue(*NAMES).pem) },
    "the answer of the ACME server has no certificate in PEM" =>
      -> { order(valid: NAMES, pem: "<html>") },
    "the ACME server refuses: not now" => -> { Errors::ServerInternal.new("not now") },
    "the ACME server refuses: some; b.test: no" => lambda {
      Errors::RejectedIdentifier.new("some", subproblems: [{ "detail" => "b.test: no" }])
    },
    "https://ca.test/dir cannot be reached: Acme::Client::Error::Timeout" => -> {
      Errors::Timeout.new
    },
    "https://ca.test/dir cannot be reached: broken" => -> { Faraday::Error.new("broken\n") },
    "https://ca.test/dir is not trusted: bad certificate; ca: names a file" =>
      -> { Faraday::SSLError.new("bad certificate") }
  }.freeze

  def test_each_failure_is_one_line_that_says_what_was_seen
    FAILURES.each do |message, cause|
      error = assert_raises(TLS::Acme::Failed, message) { issue(Client.new(instance_exec(&cause))) }
      assert_includes error.message, message
      assert_equal 1, error.message.lines.size
      assert_nil error.not_before
    end
  end

  # What is behind the server's certificate => the message.
  BROKEN_CHAINS = {
    "-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n" =>
      "the answer of the ACME server: its certificate number 2 is broken",
    "-----BEGIN CERTIFICATE-----\nMIIB" =>
      "the answer of the ACME server: its certificate number 2 has no end"
  }.freeze

  def test_a_chain_that_no_server_could_read_is_refused
    BROKEN_CHAINS.each do |more, message|
      broken = order(valid: NAMES)
      broken.more = more
      error = assert_raises(TLS::Acme::Failed) { issue(Client.new(broken)) }
      assert_includes error.message, message
    end
  end

  def test_what_is_waited_for_has_a_bound
    assert_raises(TLS::Acme::Failed) { issue(Client.new(Order.new([], "pending"))) }
    assert_includes 300..310, @pauses.sum
  end

  def test_all_challenges_that_failed_are_told
    orders = Array.new(2) { order(pending: %w[a.test], result: "invalid", error: "no") }
    error = assert_raises(TLS::Acme::NotValidated) do
      issue(Client.new(*orders), kinds: %i[http_01 tls_alpn_01])
    end
    assert_equal "a.test by HTTP-01: no; a.test by TLS-ALPN-01: no", error.message
  end

  def test_the_servers_time_for_the_next_try_is_kept
    later = Time.now + 3_600
    limited = Errors::RateLimited.new("too many", later)
    assert_equal later, assert_raises(TLS::Acme::Failed) { issue(Client.new(limited)) }.not_before
    busy = Errors::ServerInternal.new("busy", retry_after: "120")
    found = assert_raises(TLS::Acme::Failed) { issue(Client.new(busy)) }.not_before
    assert_in_delta Time.now + 120, found, 5
  end

  private

  def order(valid: [], pending: [], result: "valid", error: nil, types: nil, pem: nil)
    words = { error: error, types: types }.compact
    open = pending.map { |name| Authorization.new(name, "pending", result, **words) }
    Order.new(valid.map { |name|
      Authorization.new(name, "valid")
    } + open, "ready", "valid", pem: pem)
  end

  def kept
    certificate = AUTHORITY.issue(*NAMES)
    extension = OpenSSL::X509::ExtensionFactory.new(AUTHORITY.authority, certificate.certificate)
      .create_extension("authorityKeyIdentifier", "keyid")
    certificate.certificate.add_extension(extension)
    TLS::Acme::Kept.new(TLS::Identity.new([certificate.certificate], certificate.key), NAMES)
  end

  def with(client, kinds: [:http_01], **words)
    config = NeverBlock::Config::Acme.new(NAMES, **@words, **words)
    folder = TLS::Acme::Folder.new(config.folder).prepare
    ::Acme::Client.stub(:new, client) do
      yield TLS::Acme::Issuance.new(config, folder, @answers, kinds, ->(seconds) {
        @pauses << seconds
      })
    end
  end

  def issue(client, replaced: nil, **words)
    with(client, **words) { |issuance| issuance.call(replaced) }
  end
end
