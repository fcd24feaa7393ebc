# frozen_string_literal: true

require_relative "../../support/unit"
require_relative "../../support/certificates"
require "neverblock"
require "neverblock/check"
require "neverblock/check/rules"
require "neverblock/check/subject"
require "neverblock/config/settings"

# Certificates of addresses as `neverblock check` sees them. The authority is the test's own, so
# that a sound certificate is a note: this machine does not trust it.
class CheckCertificatesTest < Minitest::Test
  Check = NeverBlock::Check
  Rules = Check::Rules
  AUTHORITY = Certificates.new
  NOW = Time.now
  WITHOUT_TLS = Module.new { const_set(:TLSContext, Class.new { const_set(:LIBRARY, nil) }) }

  def setup
    skip "this build has no TLS" unless NeverBlock::TLSContext::LIBRARY
    @folder = Dir.mktmpdir("check-certificates")
  end

  def teardown
    FileUtils.rm_rf(@folder) if @folder
  end

  # --- what stops the server

  def test_what_stops_the_server_is_told_with_the_mend
    write("a.test")
    write("b.test", key: Certificates::KEYS[:ec].call)
    cases = {
      "cert=#{path("none.pem")}&key=#{path("a.test.key")}" =>
        [/cannot read the certificate .*there is no such file/, /write the path of the file/],
      "cert=#{path("a.test.pem")}&key=#{path("b.test.key")}" =>
        [/does not belong to the certificate/, /that the certificate was requested with/],
      "cert=#{path("a.test.key")}" => [/has no certificate in PEM/, /get the files anew/]
    }
    cases.each do |query, (seen, mend)|
      found = findings(query)
      assert_equal [[:serious, "certificate"]], rules(found), query
      assert_match(/\Athe server does not start: cannot listen on https:/, found.first.seen)
      assert_match seen, found.first.seen
      assert_match mend, found.first.mend
    end
  end

  def test_a_passphrase_that_is_missing_or_wrong
    issued = AUTHORITY.issue("a.test")
    cipher = OpenSSL::Cipher.new("aes-256-cbc")
    File.write(path("a.pem"), issued.pem)
    File.write(path("a.key"), issued.key.private_to_pem(cipher, "secret"))
    both = "cert=#{path("a.pem")}&key=#{path("a.key")}"
    found = findings(both)
    assert_match(/needs a passphrase\z/, found.first.seen)
    assert_match(/passphrase_env=NAME/, found.first.mend)
    found = findings("#{both}&passphrase_command=echo%20wrong")
    assert_match(/does not open it/, found.first.seen)
    refute_includes rules(findings("#{both}&passphrase_command=echo%20secret")),
                    [:serious, "certificate"]
  end

  def test_a_key_that_openssl_refuses
    write("a.test", key: :weak)
    found = findings(both("a.test"))
    assert_equal [:serious, "certificate"], rules(found).first
    assert_match(/OpenSSL refuses the certificate .*small/, found.first.seen)
    assert_match(/2048 bits/, found.first.mend)
  end

  def test_an_address_without_certificate_outside_of_development
    config = subject("https://app.test:443")
    assert_empty Rules::Certificates.call(config)
    with_environment("production") do
      found = Rules::Certificates.call(config)
      assert_equal [[:serious, "certificate"]], rules(found)
      assert_equal "name it: https://app.test:443?cert=FILE&key=FILE", found.first.mend
    end
  end

  def test_an_authority_of_clients_that_cannot_be_read
    write("a.test")
    found = findings("#{both("a.test")}&verify=required&ca=#{path("ca.pem")}")
    assert_match(/cannot read the file of authorities .*ca\.pem/, found.first.seen)
  end

  # --- what clients will think of it

  def test_a_sound_certificate_of_an_authority_that_this_machine_does_not_know_is_a_note
    write("a.test")
    found = chain("a.test", authorities: true).findings
    assert_equal [[:note, "certificate-chain"]], rules(found)
    assert_match(/ends at CN=test authority, which this machine does not trust/, found.first.seen)
  end

  def test_one_that_this_machine_trusts_is_not_told
    write("a.test", intermediate: true)
    store = AUTHORITY.store
    assert_empty chain("a.test", store: store).findings
    issued = AUTHORITY.issue("b.test", intermediate: true)
    put("b.test", issued.certificate.to_pem, issued.key_pem)
    refute_empty chain("b.test", store: store).findings, "without the one between"
  end

  def test_a_chain_without_its_middle_of_a_public_authority_is_a_warning
    issued = public_without_middle("a.test")
    put("a.test", issued.certificate.to_pem, issued.key_pem)
    found = chain("a.test", authorities: true).findings
    assert_equal [[:warning, "certificate-chain"]], rules(found)
    assert_match(/is incomplete: it ends before CN=test intermediate/, found.first.seen)
    assert_match(/fullchain\.pem/, found.first.mend)
  end

  def test_a_machine_without_authorities_cannot_tell
    issued = public_without_middle("a.test")
    put("a.test", issued.certificate.to_pem, issued.key_pem)
    none = chain("a.test", store: OpenSSL::X509::Store.new, authorities: false).findings
    assert_equal [[:note, "certificate-chain"]], rules(none)
    assert_match(/has no certificates of authorities .* whether clients know CN=test intermediate/,
                 none.first.seen)
  end

  def test_authorities_are_looked_for_where_openssl_does
    authorities = Rules::CertificateChain.method(:authorities?)
    File.write(path("empty.pem"), "")
    File.write(path("some.pem"), "x")
    Dir.mkdir(path("empty"))
    none = { "SSL_CERT_FILE" => path("empty.pem"), "SSL_CERT_DIR" => "/no/such:#{path("empty")}" }
    refute authorities.call(none)
    assert authorities.call(none.merge("SSL_CERT_FILE" => path("some.pem")))
    assert authorities.call(none.merge("SSL_CERT_DIR" => "/no/such:#{@folder}"))
  end

  def test_a_chain_in_the_wrong_order
    issued = AUTHORITY.issue("a.test", intermediate: true)
    text = [issued.certificate, AUTHORITY.authority, *issued.chain].map(&:to_pem).join
    put("a.test", text, issued.key_pem)
    found = findings(both("a.test"))
    assert_equal [[:warning, "certificate-chain"]], rules(found)
    assert_match(/number 2 has not signed the one before it/, found.first.seen)
  end

  def test_one_that_has_signed_itself
    made = NeverBlock::TLS::Development.new("a.test").send(:self_signed).first
    put("a.test", made.chain, made.key)
    found = findings(both("a.test"))
    assert_equal [[:note, "certificate-chain"]], rules(found)
    assert_match(/has signed itself/, found.first.seen)
  end

  def test_dates
    day = Certificates::DAY_S
    { [-3, -1] => [:serious, /expired on/], [1, 9] => [:serious, /is valid from/],
      [-3, 3.5] => [:warning, /expires in 3 days/], [-3, 1.5] => [:warning, /expires in 1 day\z/],
      [-3, 0.5] => [:warning, /in less than a day/] }.each do |(from, till), (level, seen)|
      write("a.test", from: NOW + (from * day), till: NOW + (till * day))
      found = findings(both("a.test")).find { |finding| finding.rule == "certificate-expiry" }
      assert_equal level, found.level
      assert_match seen, found.seen
      assert_match(/renew it/, found.mend)
    end
    write("a.test", till: NOW + (15 * day))
    refute_includes rules(findings(both("a.test"))).map(&:last), "certificate-expiry"
  end

  def test_a_key_that_others_may_read
    write("a.test")
    File.chmod(0o644, path("a.test.key"))
    found = findings(both("a.test"))
    assert_equal [:warning, "certificate-key"], rules(found).first
    assert_equal "chmod o-r #{path("a.test.key")}", found.first.mend
  end

  def test_keys_and_signatures_that_clients_refuse
    assert_match(/RSA key of .* has 512 bits/, told_of("a.test", key: :weak))
    small = OpenSSL::PKey::EC.generate("secp224r1")
    assert_match(/EC key of .* has 224 bits/, told_of("b.test", key: small))
    issued = AUTHORITY.issue("c.test")
    identity = NeverBlock::TLS::Identity.new(
      [issued.certificate.sign(issued.key, "SHA1")], issued.key, files: files("c.test")
    )
    assert_match(/signed with ecdsa-with-SHA1/, Rules::Certificates.send(:signature, identity).seen)
  end

  def test_a_name_that_no_certificate_has
    write("a.test")
    write("b.test")
    query = "#{both("a.test")}&#{both("b.test")}"
    found = findings(query, host: "other.test")
    name = found.find { |finding| finding.rule == "certificate-name" }
    assert_match(/is for other\.test: they are for a\.test, b\.test/, name.seen)
    %w[b.test 192.0.2.1 0.0.0.0 [::]].each do |host|
      refute_includes rules(findings(query, host: host)).map(&:last), "certificate-name", host
    end
  end

  def test_one_without_names
    write(common_name: "a.test")
    name = findings(both("server"), host: "a.test").find { |one| one.rule == "certificate-name" }
    assert_match(/has no subjectAltName: browsers refuse it/, name.seen)
  end

  def test_weak_ciphers
    write("a.test")
    config = { "tls.ciphers": "ECDHE+AESGCM:AES128-SHA256:ECDHE-RSA-AES128-SHA256" }
    found = findings(both("a.test"), **config).find { |finding| finding.rule == "tls-ciphers" }
    assert_match(/has weak ones: AES128-SHA256, ECDHE-RSA-AES128-SHA256\z/, found.seen)
    refute_includes rules(findings(both("a.test"), "tls.ciphers": "ECDHE+AESGCM")).map(&:last),
                    "tls-ciphers"
    refused = findings(both("a.test"), "tls.ciphers": "NONE")
    assert_equal [[:serious, "certificate"]], rules(refused)
    assert_match(/OpenSSL refuses tls \{ ciphers \}/, refused.first.seen)
  end

  def test_nothing_is_read_without_tls_or_without_https
    assert_empty Rules::Certificates.call(subject("https://a.test:1?cert=/none"),
                                          native: WITHOUT_TLS)
    assert_empty Rules::Certificates.call(subject("http://127.0.0.1:1"))
  end

  private

  def told_of(name, **options)
    write(name, **options)
    identity = NeverBlock::TLS::Identity.read(files(name))
    Rules::Certificates.send(:key, identity).seen
  end

  def files(name)
    NeverBlock::TLS::Identity::Files.new(path("#{name}.pem"), path("#{name}.key"))
  end

  # With the words of a public authority.
  def public_without_middle(name)
    issued = AUTHORITY.issue(name, intermediate: true)
    issued.certificate.add_extension(
      OpenSSL::X509::ExtensionFactory.new.create_extension(
        "authorityInfoAccess", "caIssuers;URI:http://ca.test/middle.crt"
      )
    )
    issued.certificate.sign(issued.key, "SHA256")
    issued
  end

  def chain(name, **options)
    Rules::CertificateChain.new(NeverBlock::TLS::Identity.read(files(name)), NOW, **options)
  end

  def findings(query, host: "0.0.0.0", **settings)
    with_environment(nil) do
      Rules::Certificates.call(subject("https://#{host}:443?#{query}", **settings), now: NOW)
    end
  end

  def subject(bind, **settings)
    made = NeverBlock::Config::Settings.new(command: { bind: [bind], **settings })
    Check::Subject.new(made, nil)
  end

  def with_environment(name)
    before = ENV.to_h.slice("RACK_ENV", "RAILS_ENV")
    ENV.update("RACK_ENV" => name, "RAILS_ENV" => nil)
    yield
  ensure
    ENV.update("RACK_ENV" => before["RACK_ENV"], "RAILS_ENV" => before["RAILS_ENV"])
  end

  def rules(findings)
    findings.map { |finding| [finding.level, finding.rule] }
  end

  def path(name)
    File.join(@folder, name)
  end

  def put(name, certificates, key)
    File.write(path("#{name}.pem"), certificates)
    File.write(path("#{name}.key"), key, perm: 0o600)
  end

  def both(name)
    "cert=#{path(name)}.pem&key=#{path(name)}.key"
  end

  def write(*names, **options)
    issued = AUTHORITY.issue(*names, **options)
    issued.write(@folder, names.first || "server").each { |file| File.chmod(0o600, file) }
  end
end
