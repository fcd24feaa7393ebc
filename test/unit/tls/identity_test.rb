# frozen_string_literal: true

require_relative "../../support/unit"
require_relative "../../support/certificates"
require "neverblock/tls/identity"

class IdentityTest < Minitest::Test
  Identity = NeverBlock::TLS::Identity
  Unusable = NeverBlock::TLS::Unusable

  AUTHORITY = Certificates.new
  EC = Certificates.key(:ec)
  RSA = Certificates.key(:rsa)
  SECRET = "correct horse"
  CIPHER = "aes-256-cbc"

  def setup
    @folder = Dir.mktmpdir("identity")
  end

  def teardown
    FileUtils.remove_entry(@folder)
  end

  # --- what is read

  # Each form of a private key => its first line and the file's text.
  KEYS = {
    "an EC key in PKCS#8" => ["BEGIN PRIVATE KEY", EC, -> { EC.private_to_pem }],
    "an EC key in SEC1" => ["BEGIN EC PRIVATE KEY", EC, -> { EC.to_pem }],
    "an EC key after its parameters" =>
      ["BEGIN EC PARAMETERS", EC, -> { EC.group.to_pem + EC.to_pem }],
    "an RSA key in PKCS#8" => ["BEGIN PRIVATE KEY", RSA, -> { RSA.private_to_pem }],
    "an RSA key in PKCS#1" => ["BEGIN RSA PRIVATE KEY", RSA, -> { RSA.to_pem }],
    "an Ed25519 key" =>
      ["BEGIN PRIVATE KEY", Certificates.key(:ed25519),
       -> { Certificates.key(:ed25519).private_to_pem }],
    "a key with CR at its line ends" =>
      ["BEGIN PRIVATE KEY", EC, -> { EC.private_to_pem.gsub("\n", "\r\n") }],
    "a key after a remark" =>
      ["of the web", EC, -> { "Key of the web server\n\n#{EC.private_to_pem}" }]
  }.freeze

  KEYS.each do |what, (first_line, key, text)|
    define_method("test_#{what} is read") do
      assert_includes text.call.lines.first, first_line
      identity = read(AUTHORITY.issue("a.test", key: key).pem, text.call)
      assert_equal key.private_to_pem, identity.key
      assert_equal ["a.test"], identity.names
    end
  end

  def test_the_chain_is_kept_in_its_order
    issued = AUTHORITY.issue("a.test", intermediate: true)
    identity = read("a remark\n#{issued.pem}", issued.key_pem)
    assert_equal issued.pem, identity.chain
    assert_equal 2, identity.chain.scan("BEGIN CERTIFICATE").size
  end

  def test_certificate_and_key_may_stand_in_one_file_in_either_order
    issued = AUTHORITY.issue("a.test", intermediate: true)
    [issued.pem + issued.key_pem, issued.key.to_pem + issued.pem].each do |text|
      identity = Identity.read(files(file("both.pem", text)))
      assert_equal [issued.pem, issued.key_pem], [identity.chain, identity.key]
    end
  end

  NAMES = {
    "those of the SAN, in lower case, each once" =>
      [%w[A.test b.test a.test 127.0.0.1], "c.test", %w[a.test b.test]],
    "wildcards" => [["*.A.test"], "x", ["*.a.test"]],
    "the common name where there is no SAN" => [[], "C.test", ["c.test"]],
    "none where the SAN has addresses alone" => [["127.0.0.1", "::1"], "c.test", []],
    "none where the common name is no host name" => [[], "The Company, Ltd", []]
  }.freeze

  NAMES.each do |what, (names, common_name, expected)|
    define_method("test_the names are #{what}") do
      assert_equal expected, Identity.names_of(
        AUTHORITY.issue(*names, common_name: common_name).certificate
      )
    end
  end

  # --- dates

  def test_a_certificate_out_of_its_time_is_read_with_a_warning
    from = Time.utc(2020, 1, 2, 3, 4)
    till = Time.utc(2020, 2, 1)
    issued = AUTHORITY.issue("a.test", from: from, till: till)
    identity = read(issued.pem, issued.key_pem)
    assert_equal [from, till], [identity.not_before, identity.not_after]
    assert_equal "the certificate #{path("cert.pem")} expired on 2020-02-01 00:00 UTC; " \
                 "clients refuse it", identity.warning
    assert_nil identity.warning(from + 1)
    assert_equal "the certificate #{path("cert.pem")} is valid from 2020-01-02 03:04 UTC on; " \
                 "clients refuse it until then", identity.warning(from - 1)
  end

  def test_a_certificate_that_was_made_here_needs_no_warning
    issued = AUTHORITY.issue("a.test", till: Time.now - 1)
    assert_nil Identity.new([issued.certificate], issued.key).warning
  end

  # --- files that cannot be used

  GOOD = AUTHORITY.issue("a.test")
  # Texts of the two files (nil: there is none) => the message, with CERT and KEY for their paths.
  WRONG = {
    "no certificate file" =>
      [nil, GOOD.key_pem, "cannot read the certificate CERT: there is no such file"],
    "no key file" => [GOOD.pem, nil, "cannot read the key KEY: there is no such file"],
    "an empty certificate file" =>
      ["", GOOD.key_pem, "CERT has no certificate in PEM (a line -----BEGIN CERTIFICATE-----)"],
    "a certificate in DER" =>
      [GOOD.certificate.to_der, GOOD.key_pem,
       "CERT has no certificate in PEM (a line -----BEGIN CERTIFICATE-----)"],
    "a key in place of the certificate" =>
      [GOOD.key_pem, GOOD.key_pem,
       "CERT has no certificate in PEM (a line -----BEGIN CERTIFICATE-----); it has a private key"],
    "a certificate in place of the key" =>
      [GOOD.pem, GOOD.pem, "KEY has no private key in PEM (a line -----BEGIN PRIVATE KEY-----); " \
                           "it has a certificate"],
    "a public key in place of the key" =>
      [GOOD.pem, EC.public_to_pem, "KEY has no private key in PEM (a line -----BEGIN PRIVATE " \
                                   "KEY-----)"],
    "a certificate that is cut" =>
      [GOOD.pem[0, 200], GOOD.key_pem, "CERT: its certificate number 1 has no end"],
    "a second certificate that is cut" =>
      [GOOD.pem + AUTHORITY.ca_pem[0, 200], GOOD.key_pem,
       "CERT: its certificate number 2 has no end"],
    "a second certificate that is cut in its first line" =>
      ["#{GOOD.pem}-----BEGIN CERTIFICA", GOOD.key_pem,
       "CERT: its certificate number 2 has no end"],
    "a second certificate that is cut in its last line" =>
      [GOOD.pem + AUTHORITY.ca_pem.chomp("--\n"), GOOD.key_pem,
       "CERT: its certificate number 2 has no end"],
    "a second certificate that is cut before a third" =>
      ["#{GOOD.pem}#{AUTHORITY.ca_pem[0, 200]}\n#{AUTHORITY.ca_pem}", GOOD.key_pem,
       "CERT: its certificate number 2 has no end"],
    "a certificate with a wrong byte" =>
      [GOOD.pem.sub(/^MII/, "AII"), GOOD.key_pem,
       /\ACERT: its certificate number 1 is broken \([^\n]+\)\z/],
    "a broken second certificate" =>
      ["#{GOOD.pem}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", GOOD.key_pem,
       /\ACERT: its certificate number 2 is broken \([^\n]+\)\z/],
    "a key that is cut" => [GOOD.pem, GOOD.key_pem[0, 100], "KEY: its private key has no end"],
    "a key with a wrong byte" =>
      [GOOD.pem, GOOD.key_pem.sub(/^M/, "A"), "KEY: its private key is broken"],
    "a key of another certificate" =>
      [GOOD.pem, OpenSSL::PKey::EC.generate("prime256v1").private_to_pem,
       "the key KEY does not belong to the certificate CERT"],
    "a key of another kind" =>
      [GOOD.pem, RSA.private_to_pem, "the key KEY does not belong to the certificate CERT"],
    "a chain in the wrong order" =>
      [AUTHORITY.ca_pem + GOOD.pem, GOOD.key_pem,
       "CERT: the certificate of the key is number 2 in it; it has to be the first, before those " \
       "that sign it"]
  }.freeze

  WRONG.each do |what, (certificate, key, message)|
    define_method("test_#{what} is refused") do
      assert_refused(message) { read(certificate, key) }
    end
  end

  def test_a_folder_is_refused
    key = file("key.pem", GOOD.key_pem)
    assert_refused("cannot read the certificate #{@folder}: it is a folder") do
      Identity.read(files(@folder, key))
    end
  end

  # Tests may run as root, who may read all.
  def test_a_file_that_may_not_be_read_is_refused
    File.stub(:binread, ->(path) { raise Errno::EACCES, path }) do
      assert_refused("cannot read the certificate CERT: user #{Process.euid} may not read it") do
        read(GOOD.pem, GOOD.key_pem)
      end
    end
    File.stub(:binread, ->(path) { raise Errno::EIO, path }) do
      assert_refused(/\Acannot read the certificate CERT: Input.output error/) do
        read(GOOD.pem, GOOD.key_pem)
      end
    end
  end

  # --- passphrases

  ENCRYPTED = {
    "PKCS#8" => -> { EC.private_to_pem(OpenSSL::Cipher.new(CIPHER), SECRET) },
    "SEC1" => -> { EC.to_pem(OpenSSL::Cipher.new(CIPHER), SECRET) },
    "PKCS#1" => -> { RSA.to_pem(OpenSSL::Cipher.new(CIPHER), SECRET) }
  }.freeze

  ENCRYPTED.each do |form, text|
    define_method("test_an encrypted key in #{form} is opened by the right passphrase alone") do
      key = form == "PKCS#1" ? RSA : EC
      certificate = AUTHORITY.issue("a.test", key: key).pem
      with_env(SECRET) do
        assert_equal key.private_to_pem, read(certificate, text.call, [:env, "NB_TEST"]).key
      end
      ["wrong", ""].each do |passphrase|
        with_env(passphrase) do
          assert_refused("KEY: the passphrase from the environment variable NB_TEST does not " \
                         "open it") { read(certificate, text.call, [:env, "NB_TEST"]) }
        end
      end
    end
  end

  def test_an_encrypted_key_without_a_passphrase_is_refused_and_nobody_is_asked
    ENCRYPTED.each_value do |text|
      assert_refused("KEY needs a passphrase; say where it is: passphrase_env=NAME or " \
                     "passphrase_command=COMMAND") { read(GOOD.pem, text.call) }
    end
  end

  def test_an_encrypted_key_may_stand_in_the_certificates_file
    both = file("both.pem", GOOD.pem + ENCRYPTED["PKCS#8"].call)
    identity = Identity.read(files(both, both, [:command, "echo '#{SECRET}'"]))
    assert_equal EC.private_to_pem, identity.key
  end

  def test_a_passphrase_that_is_not_needed_is_not_looked_for
    assert_equal GOOD.key_pem, read(GOOD.pem, GOOD.key_pem, [:command, "exit 1"]).key
  end

  def test_the_command_of_a_wrong_passphrase_is_named
    assert_refused("KEY: the passphrase from the command \"echo wrong\" does not open it") do
      read(GOOD.pem, ENCRYPTED["PKCS#8"].call, [:command, "echo wrong"])
    end
  end

  private

  def path(name)
    File.join(@folder, name)
  end

  def file(name, text)
    path(name).tap { |path| File.binwrite(path, text) }
  end

  def files(cert, key = cert, passphrase = nil)
    Identity::Files.new(cert, key, passphrase)
  end

  # Writes both texts and reads them. nil: there is no such file.
  def read(certificate, key, passphrase = nil)
    file("cert.pem", certificate) if certificate
    file("key.pem", key) if key
    Identity.read(files(path("cert.pem"), path("key.pem"), passphrase))
  end

  def assert_refused(message, &block)
    seen = assert_raises(Unusable, &block).message
    seen = seen.gsub(path("cert.pem"), "CERT").gsub(path("key.pem"), "KEY")
    message.is_a?(Regexp) ? assert_match(message, seen) : assert_equal(message, seen)
    refute_includes seen, "\n"
  end

  def with_env(value)
    ENV["NB_TEST"] = value
    yield
  ensure
    ENV.delete("NB_TEST")
  end
end
