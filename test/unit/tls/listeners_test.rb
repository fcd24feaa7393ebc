# frozen_string_literal: true

require_relative "../../support/fake_native"
require_relative "../../support/certificates"
require_relative "../../support/patience"
require "neverblock/config"
require "neverblock/tls/acme"
require "neverblock/tls/listeners"

class ListenersTest < Minitest::Test
  Listeners = NeverBlock::TLS::Listeners
  Unusable = NeverBlock::TLS::Unusable
  AUTHORITY = Certificates.new

  # Keeps what it is given, as the native class does. OpenSSL refuses names that it has in REFUSES.
  class Context
    LIBRARY = "OpenSSL of a test"
    REFUSES = "refused.test"
    REFUSED_AUTHORITIES = "refused"

    class Refused < NeverBlock::Error
      attr_reader :fault

      def initialize(fault, message)
        super(message)
        @fault = fault
      end
    end

    attr_reader :added

    attr_reader :settings

    def initialize(*settings)
      raise Refused.new(:ciphers, "no cipher match") if settings.include?("none")
      raise Refused.new(:authorities, "no start line") if settings[7] == REFUSED_AUTHORITIES

      @settings = settings
      @added = []
    end

    attr_reader :challenges

    def add_challenge(name, chain, key)
      (@challenges ||= []) << [name, chain, key]
    end

    def add(names, chain, key)
      raise Refused.new(:certificate, "ee key too small") if names.include?(REFUSES)

      @added << [names, chain, key]
      self
    end
  end

  NATIVE = Module.new { const_set(:TLSContext, Context) }
  WITHOUT_TLS = Module.new do
    const_set(:TLSContext, Class.new do
      const_set(:LIBRARY, nil)
      const_set(:Refused, Class.new(NeverBlock::Error))
    end)
  end

  # What is asked of a Config.
  Settings = Struct.new(:secure, :makes) do
    def makes_certificates?
      makes
    end
  end

  # Tells a test of each context that a listener gets.
  class Engine
    attr_reader :given
    attr_accessor :failure

    def initialize
      @given = Thread::Queue.new
    end

    def listener_tls(number, context)
      raise failure if failure

      @given << [number, context]
    end

    # @return [Array<Array>] number and names of each that was given since
    def taken
      Array.new(@given.size) { @given.pop }.map do |number, context|
        [number, context.added.map(&:first)]
      end
    end
  end

  def setup
    @folder = Dir.mktmpdir("listeners")
    @engine = Engine.new
    @log = FakeNative::Log.new
    @listeners = listeners
  end

  def teardown
    @listeners.close
    FileUtils.remove_entry(@folder)
  end

  # --- what a listener serves with

  def test_a_context_has_the_certificates_of_its_address_in_their_order
    written = %w[a.test b.test].map do |name|
      issued = write(name)
      [[name], issued.pem, issued.key_pem]
    end
    assert_equal written, @listeners.context(bind("a.test", "b.test")).added
    assert_empty @log.text
  end

  def test_a_certificate_out_of_its_time_is_served_with_a_warning
    write("a.test", from: Time.utc(2019), till: Time.utc(2020))
    assert_equal 1, @listeners.context(bind("a.test")).added.size
    assert_match(%r{warning: the certificate \S+/a\.test\.pem expired on 2020-01-01}, @log.text)
  end

  def test_an_address_without_certificate_gets_one_for_development
    development = Object.new
    development.define_singleton_method(:identity) do |host|
      issued = AUTHORITY.issue(host)
      [NeverBlock::TLS::Identity.new([issued.certificate], issued.key), "made for #{host}"]
    end
    address = NeverBlock::Config::Bind.parse("https://app.test:0")
    added = listeners(development: development).context(address).added
    assert_equal [["app.test"]], added.map(&:first)
    assert_includes @log.text, "info: made for app.test"
  end

  def test_outside_of_development_an_address_without_certificate_is_refused
    address = NeverBlock::Config::Bind.parse("https://app.test:443")
    error = assert_raises(Unusable) { listeners(config: settings(makes: false)).context(address) }
    assert_equal "it has no certificate, and one is made in development only; name it: " \
                 "https://app.test:443?cert=FILE&key=FILE, or tls { cert \"FILE\"; key \"FILE\" }",
                 error.message
  end

  def test_an_address_that_names_no_certificate_gets_those_of_all_and_they_are_renewed
    write("a.test")
    config = settings(cert: [path("a.test.pem")], key: [path("a.test.key")], min_version: :"1.3")
    @listeners = listeners(config: config)
    address = NeverBlock::Config::Bind.parse("https://127.0.0.1:443")
    context = @listeners.context(address)
    assert_equal [["a.test"]], context.added.map(&:first)
    assert_equal [0x0304, nil, nil, nil, nil, nil, 0, nil, true], context.settings
    @listeners.add(address, 0, context)
    renew("a.test", as: "new.test")
    @listeners.renew
    assert_equal [["a.test"], ["new.test"]], (@engine.taken.map { |_, names| names.first })
    write("b.test")
    assert_equal [["b.test"]], @listeners.context(bind("b.test")).added.map(&:first)
  end

  def test_an_address_verifies_clients_by_its_own_file_which_is_followed
    write("a.test")
    File.write(path("ca.pem"), "the first")
    @listeners = listeners(config: settings(verify: :optional, ca: path("none.pem")))
    address = bind("a.test", more: "&verify=required&ca=#{path("ca.pem")}")
    context = @listeners.context(address)
    assert_equal [2, "the first"], context.settings[6, 2]
    @listeners.add(address, 0, context)
    @engine.given.clear
    File.write(path("ca.pem"), "another one")
    @listeners.renew
    assert_equal [2, "another one"], @engine.given.pop.last.settings[6, 2]
    assert_nil @listeners.context(bind("a.test", more: "&verify=none")).settings[7]
  end

  def test_authorities_that_openssl_refuses_are_told_with_their_file
    write("a.test")
    File.write(path("ca.pem"), Context::REFUSED_AUTHORITIES)
    error = assert_raises(Unusable) do
      @listeners.context(bind("a.test", more: "&verify=required&ca=#{path("ca.pem")}"))
    end
    assert_equal "OpenSSL refuses the authorities of #{path("ca.pem")} (no start line)",
                 error.message
  end

  def test_a_setting_that_openssl_refuses_is_told_as_users_know_it
    write("a.test")
    error = assert_raises(Unusable) do
      listeners(config: settings(ciphers: "none")).context(bind("a.test"))
    end
    assert_equal "OpenSSL refuses tls { ciphers } (no cipher match)", error.message
  end

  def test_what_openssl_refuses_is_told_with_the_file
    write(Context::REFUSES)
    error = assert_raises(Unusable) { @listeners.context(bind(Context::REFUSES)) }
    assert_equal "OpenSSL refuses the certificate of #{path("refused.test.pem")} " \
                 "(ee key too small)", error.message
  end

  def test_a_file_that_cannot_be_used_is_told
    error = assert_raises(Unusable) { @listeners.context(bind("none")) }
    assert_equal "cannot read the certificate #{path("none.pem")}: there is no such file",
                 error.message
  end

  def test_a_build_without_tls_is_told_with_the_mend
    error = assert_raises(Unusable) { listeners(native: WITHOUT_TLS).context(bind("none")) }
    assert_equal "this build has no TLS: install OpenSSL's development files (libssl-dev), and " \
                 "install the gem again; or put a proxy in front", error.message
  end

  # --- renewal

  def test_each_look_tells_of_certificates_that_expire_soon
    clock = Struct.new(:now).new(Time.now)
    @listeners = listeners(expiry: NeverBlock::TLS::Expiry.new(@log, clock: clock))
    open_listeners("a.test")
    @listeners.renew
    assert_empty @log.text
    clock.now += 20 * Certificates::DAY_S
    2.times { @listeners.renew }
    line = "warning: the certificate #{path("a.test.pem")} expires in less than 14 days"
    assert_equal 1, @log.text.scan(line).size
    renew("a.test", as: "new.test")
    @listeners.renew
    clock.now += 5 * Certificates::DAY_S
    @listeners.renew
    assert_equal 1, @log.text.scan("expires in less than 7 days").size, "of the one that is served"
  end

  def test_files_that_are_unchanged_are_not_read
    open_listeners("a.test")
    File.stub(:binread, ->(_) { flunk("it was read") }) { @listeners.renew }
    assert_empty @engine.taken
    assert_empty @log.text
  end

  def test_a_renewed_file_is_taken_by_all_listeners_of_its_address_alone
    open_listeners("a.test", numbers: [0, 1])
    open_listeners("b.test", numbers: [2])
    renew("a.test", as: "new.test")
    @listeners.renew
    assert_equal [[0, [["new.test"]]], [1, [["new.test"]]]], @engine.taken
    files = "#{path("a.test.pem")}, #{path("a.test.key")}"
    assert_includes @log.text, "info: https://127.0.0.1:443: serves the certificate of #{files} " \
                               "from now on"
    @listeners.renew
    assert_empty @engine.taken, "once"
  end

  def test_a_file_that_became_another_by_a_link_is_renewed
    write("old")
    write("new")
    %w[pem key].each { |kind| File.symlink("old.#{kind}", path("live.#{kind}")) }
    open_listeners("live", write: false)
    %w[pem key].each do |kind|
      File.symlink("new.#{kind}", path("next.#{kind}"))
      File.rename(path("next.#{kind}"), path("live.#{kind}"))
    end
    @listeners.renew
    assert_equal [[0, [["new"]]]], @engine.taken
  end

  def test_a_broken_new_file_leaves_the_old_certificate_and_is_told_once
    open_listeners("a.test")
    File.write(path("a.test.pem"), "oops")
    2.times { @listeners.renew }
    assert_empty @engine.taken
    told = "warning: https://127.0.0.1:443 goes on with its old certificate: " \
           "#{path("a.test.pem")} has no certificate in PEM"
    assert_equal 1, @log.text.scan(told).size
    renew("a.test", as: "new.test")
    @listeners.renew
    assert_equal [[0, [["new.test"]]]], @engine.taken, "the next one is taken"
  end

  def test_a_file_that_could_not_be_read_is_taken_once_it_can
    open_listeners("a.test")
    renew("a.test", as: "new.test")
    File.stub(:binread, ->(path) { raise Errno::EMFILE, path }) { 2.times { @listeners.renew } }
    assert_equal 1, @log.text.scan("goes on with its old certificate").size
    @listeners.renew
    assert_equal [[0, [["new.test"]]]], @engine.taken
    assert_includes @log.text, "serves the certificate of #{path("a.test.pem")}"
    @listeners.renew
    assert_empty @engine.taken, "once"
  end

  def test_what_is_wrong_is_told_again_where_somebody_asks_and_where_it_differs
    open_listeners("a.test")
    past = { from: Time.utc(2019), till: Time.utc(2020) }
    write("b.test", key: Certificates::KEYS[:ec].call, **past)
    File.rename(path("b.test.pem"), path("a.test.pem"))
    2.times { @listeners.renew }
    told = ["the key #{path("a.test.key")} does not belong", "a.test.key: there is no such file"]
    assert_equal [1, 0], (told.map { |words| @log.text.scan(words).size })
    @listeners.renew(asked: true)
    File.unlink(path("a.test.key"))
    2.times { @listeners.renew }
    assert_equal [2, 1], (told.map { |words| @log.text.scan(words).size })
    refute_includes @log.text, "expired", "it is not served"
  end

  def test_a_pair_that_is_half_renewed_is_taken_when_its_key_is_there
    open_listeners("a.test")
    AUTHORITY.issue("new.test", key: Certificates::KEYS[:ec].call).then do |issued|
      File.write(path("a.test.pem"), issued.pem)
      @listeners.renew
      assert_empty @engine.taken
      assert_includes @log.text, "the key #{path("a.test.key")} does not belong to the certificate"
      File.write(path("a.test.key"), issued.key_pem)
    end
    @listeners.renew
    assert_equal [[0, [["new.test"]]]], @engine.taken
  end

  def test_a_file_that_is_gone_leaves_the_old_certificate
    open_listeners("a.test")
    File.unlink(path("a.test.key"))
    @listeners.renew
    assert_empty @engine.taken
    assert_includes @log.text, "cannot read the key #{path("a.test.key")}: there is no such file"
  end

  def test_files_that_change_while_they_are_read_are_looked_at_again
    write("a.test")
    address = bind("a.test")
    renewed = false
    read = File.method(:binread)
    slow = lambda do |path|
      text = read.call(path)
      renew("a.test", as: "new.test") unless renewed
      renewed = true
      text
    end
    context = File.stub(:binread, slow) { @listeners.context(address) }
    @listeners.add(address, 0, context)
    @listeners.renew
    assert_equal [[0, [["a.test"]]], [0, [["new.test"]]]], @engine.taken
  end

  def test_when_asked_it_reads_files_that_look_unchanged
    open_listeners("a.test")
    @listeners.renew(asked: true)
    assert_equal [[0, [["a.test"]]]], @engine.taken
    assert_empty @log.text
  end

  def test_an_engine_that_takes_no_context_any_more_is_told_and_harms_nothing
    open_listeners("a.test")
    @engine.failure = NeverBlock::Error.new("this engine is closed")
    @listeners.renew(asked: true)
    assert_includes @log.text, "goes on with its old certificate: this engine is closed"
  end

  # --- tls { acme }

  def test_until_a_certificate_is_issued_a_self_signed_one_stands_in
    address = open_acme("a.test", "www.a.test")
    assert_equal [[0, [%w[a.test www.a.test]]]], @engine.taken
    line = "info: #{address} serves a self-signed certificate for a.test, www.a.test until " \
           "https://ca.test/dir has issued one"
    assert_equal 1, @log.text.scan(line).size
    @listeners.renew(asked: true)
    assert_equal [[0, [%w[a.test www.a.test]]]], @engine.taken, "the same one goes on"
    refute_includes @log.text, "warning"
    assert_equal 1, @log.text.scan("self-signed").size
  end

  def test_an_issued_certificate_is_taken_and_its_renewal
    open_acme("a.test")
    first = keep("a.test")
    @listeners.renew
    second = keep("a.test", "more.test")
    @listeners.renew
    contexts = Array.new(@engine.given.size) { @engine.given.pop.last }
    assert_equal [first.pem, second.pem], contexts.last(2).map { |one| one.added.first[1] }
    assert_equal 2,
                 @log.text.scan("serves the certificate of #{@order.files.cert} from now on").size
  end

  def test_a_kept_certificate_is_served_from_the_start
    @order = order("a.test")
    kept = keep("a.test")
    open_acme("a.test")
    assert_equal kept.pem, @engine.given.pop.last.added.first[1]
    assert_empty @log.text
  end

  def test_a_kept_file_that_is_broken_is_told_and_another_stands_in
    @order = order("a.test")
    FileUtils.mkdir_p(@order.folder)
    File.write(@order.files.cert, "oops")
    open_acme("a.test")
    assert_equal [[0, [%w[a.test]]]], @engine.taken
    assert_match(/warning: \S+a\.test\.pem has no certificate in PEM/, @log.text)
    assert_includes @log.text, "self-signed"
  end

  def test_a_kept_file_that_is_gone_leaves_the_old_certificate
    @order = order("a.test")
    keep("a.test")
    open_acme("a.test")
    @engine.taken
    File.unlink(@order.files.cert)
    2.times { @listeners.renew }
    assert_empty @engine.taken
    told = "goes on with its old certificate: cannot read the certificate"
    assert_equal 1, @log.text.scan(told).size
  end

  def test_certificates_of_files_come_before_those_of_acme
    write("b.test")
    open_acme("a.test", cert: [path("b.test.pem")], key: [path("b.test.key")])
    assert_equal [[0, [%w[b.test], %w[a.test]]]], @engine.taken
    write("c.test")
    assert_equal [["c.test"]], @listeners.context(bind("c.test")).added.map(&:first),
                 "an address with certificates of its own has those alone"
  end

  def test_challenges_are_answered_on_all_addresses_beside_what_they_serve
    open_acme("a.test")
    open_listeners("b.test", numbers: [1])
    @engine.taken
    answer = NeverBlock::TLS::SelfSigned.identity(["a.test"], days: 1)
    @listeners.challenges = { "a.test" => answer }
    given = Array.new(2) { @engine.given.pop }
    assert_equal [[0, [%w[a.test]]], [1, [%w[b.test]]]],
                 given.map { |number, context| [number, context.added.map(&:first)] }
    assert_equal [[["a.test", answer.chain, answer.key]]] * 2, given.map { |_, one| one.challenges }
    keep("a.test")
    @listeners.renew
    assert @engine.given.pop.last.challenges, "they are there after a renewal"
    @listeners.challenges = {}
    assert_equal [nil, nil], (Array.new(2) { @engine.given.pop.last.challenges })
  end

  # --- the thread

  def test_the_thread_looks_when_it_is_asked_to
    open_listeners("a.test")
    @listeners.follow
    assert @listeners.ask
    assert_equal 0, Timeout.timeout(Patience::SECONDS) { @engine.given.pop }.first
  end

  def test_close_ends_the_thread_at_once
    open_listeners("a.test")
    before = Thread.list
    @listeners.follow
    thread = (Thread.list - before).find { |one| one.name == "nb-certificates" }
    assert thread
    @listeners.close
    refute_predicate thread, :alive?
  end

  def test_close_does_not_wait_for_a_command_that_hangs
    open_listeners("a.test")
    gate = Thread::Queue.new
    @engine.define_singleton_method(:listener_tls) { |*| gate.pop }
    @listeners.follow.ask
    Thread.pass until gate.num_waiting == 1
    @listeners.close
    assert_equal 1, gate.num_waiting
  ensure
    gate&.close
  end

  def test_without_files_there_is_no_thread
    before = Thread.list
    refute @listeners.follow.ask
    assert_empty Thread.list - before
    @listeners.close
  end

  private

  def listeners(config: settings, **options)
    Listeners.new(@engine, @log, config, **{ native: NATIVE }.merge(options))
  end

  # makes: whether certificates are made. The rest: of `tls { }`.
  def settings(makes: true, **secure)
    Settings.new(NeverBlock::Config::Secure.new(**secure), makes)
  end

  def order(*names)
    NeverBlock::Config::Acme.new(names, folder: @folder, directory: "https://ca.test/dir")
  end

  # @return [Config::Bind] an address that serves it, as listener 0
  def open_acme(*names, **secure)
    @order ||= order(*names)
    @listeners = listeners(config: settings(makes: false, acme: [@order], **secure))
    address = NeverBlock::Config::Bind.parse("https://127.0.0.1:443")
    @listeners.add(address, 0, @listeners.context(address))
    address
  end

  # What the folder of the order has from now on.
  # @return [Certificates::Issued]
  def keep(*names)
    issued = AUTHORITY.issue(*names)
    folder = NeverBlock::TLS::Acme::Folder.new(@order.folder).prepare
    folder.write(@order.files.cert, issued.key_pem + issued.pem)
    issued
  end

  def path(name)
    File.join(@folder, name)
  end

  # Writes NAME.pem and NAME.key.
  def write(name, **options)
    AUTHORITY.issue(name, **options).tap { |issued| issued.write(@folder, name) }
  end

  # Replaces the files NAME.pem and NAME.key, as tools do: by renaming.
  def renew(name, as:)
    write(as)
    %w[pem key].each { |kind| File.rename(path("#{as}.#{kind}"), path("#{name}.#{kind}")) }
  end

  # An address with the certificates of these names.
  def bind(*names, more: "")
    query = names.map { |name| "cert=#{path(name)}.pem&key=#{path(name)}.key" }.join("&")
    NeverBlock::Config::Bind.parse("https://127.0.0.1:443?#{query}#{more}")
  end

  def open_listeners(name, numbers: [0], write: true)
    write(name) if write
    address = bind(name)
    context = @listeners.context(address)
    numbers.each { |number| @listeners.add(address, number, context) }
    @engine.taken
  end
end
