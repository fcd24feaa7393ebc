# frozen_string_literal: true

require "digest"
require "fileutils"
require "json"
require "minitest/autorun"
require "open3"
require "rbconfig"
require "rubygems/package"
require "tmpdir"

# bin/release in a repository of its own, which has what the gems are made of. Its bin/check and
# bin/test are stand-ins that end as the test says. Signing is by a key of ssh that the test makes.
class ReleaseTest < Minitest::Test
  ROOT = File.expand_path("../..", __dir__)
  PARTS = %w[
    bin/release bin/build-gem bin/sbom neverblock.gemspec lib ext sig exe docs bench live README.md
    LICENSE
  ].freeze
  VERSION = File.read(File.join(ROOT, "lib/neverblock/version.rb"))[/VERSION = "(.*)"/, 1]
  TAG = "v#{VERSION}"

  def setup
    @folder = Dir.mktmpdir("neverblock-release")
    copy_parts
    write("CHANGELOG.md", "# Changelog\n\n## #{VERSION} (2026-11-28)\n- one line\n")
    write(".gitignore", "/pkg/\n/lib/neverblock/*.so\n/lib/neverblock/*.bundle\n")
    %w[check test live-page].each { |name| stand_in(name, "echo bin/#{name} has run") }
    git("init", "--quiet", "--initial-branch", "main")
    git("config", "user.name", "Nobody")
    git("config", "user.email", "nobody@example.org")
    commit
  end

  def teardown
    FileUtils.rm_rf(@folder)
  end

  def test_a_dry_run_looks_and_changes_nothing
    before = tree
    said, status = release("--dry-run")
    assert status.success?, said
    assert_match(/^release: #{VERSION}: the tree is clean, CHANGELOG.md has the version/, said)
    assert_match(%r{^release: would run bin/check and bin/test$}, said)
    assert_match(/^release: would make no tag: there is no key to sign with/, said)
    assert_match(/^release: would push nothing \(--push\)$/, said)
    assert_equal before, tree
    assert_empty git("tag", "--list")
  end

  def test_all_that_is_in_the_way_is_named_at_once
    git("tag", TAG)
    write("CHANGELOG.md", "# Changelog\n\n## #{VERSION} (unreleased)\n")
    write("lib/neverblock/left.rb", "")
    said, status = release("--dry-run")
    assert_equal 1, status.exitstatus
    assert_match(%r{files are changed or unknown to git: CHANGELOG.md, lib/neverblock/left.rb; c},
                 said)
    assert_match(/heading of CHANGELOG.md is "## #{VERSION} \(unreleased\)"/, said)
    assert_match(/the heading has to be "## #{VERSION} \(\d{4}-\d\d-\d\d\)"/, said)
    assert_match(/the tag #{TAG} is there already; raise the version/, said)
  end

  def test_tests_that_fail_end_it_before_anything_is_built
    stand_in("test", "echo one failed; exit 1")
    commit
    said, status = release
    assert_equal 1, status.exitstatus
    assert_match(%r{bin/check has run}, said)
    assert_match(%r{bin/release: bin/test has failed: mend that first}, said)
    refute_path_exists inside("pkg")
  end

  def test_gems_checksums_and_bills_of_materials_are_made_and_a_person_is_told_the_rest
    said, status = release
    assert status.success?, said
    names = %W[
      SHA256SUMS neverblock-#{VERSION}.cdx.json neverblock-#{VERSION}.gem
      neverblock-bench-#{VERSION}.cdx.json neverblock-bench-#{VERSION}.gem
    ]
    assert_equal names.sort, Dir.children(inside("pkg")).sort
    sums = File.readlines(inside("pkg/SHA256SUMS")).to_h { |line| line.split.reverse }
    assert_equal names.sort - ["SHA256SUMS"], sums.keys.sort
    sums.each { |name, sum| assert_equal Digest::SHA256.file(inside("pkg/#{name}")).hexdigest, sum }
    assert_bill(sums)
    assert_match(/^release: NO TAG: there is no key to sign with/, said)
    assert_empty git("tag", "--list")
    assert_match(/^release: nothing has left this machine. What a person does:$/, said)
    assert_match(/^  \d\. git push origin #{TAG}$/, said)
    assert_match(%r{^  \d\. gem push pkg/neverblock-#{VERSION}.gem$}, said)
  end

  def test_the_same_commit_makes_the_same_bytes
    release
    first = File.read(inside("pkg/SHA256SUMS"))
    FileUtils.touch(inside("README.md"), mtime: Time.at(0))
    release
    assert_equal first, File.read(inside("pkg/SHA256SUMS"))
  end

  def test_with_a_key_the_tag_is_signed_and_only_push_pushes
    sign_with_ssh
    remote = add_remote
    said, status = release
    assert status.success?, said
    assert_match(/^release: signed the tag #{TAG}$/, said)
    assert_match(/BEGIN SSH SIGNATURE/, git("cat-file", "tag", TAG))
    assert_empty refs(remote)
    git("tag", "--delete", TAG)
    stand_in_gem
    said, status = release("--push")
    assert status.success?, said
    assert_equal ["refs/tags/#{TAG}"], refs(remote)
    assert_equal 2, File.readlines("#{@folder}.pushed").size
  ensure
    FileUtils.rm_rf([remote, "#{@folder}.pushed", "#{@folder}.bin"].compact)
  end

  def test_push_without_a_key_is_refused
    said, status = release("--push", "--dry-run")
    assert_equal 1, status.exitstatus
    assert_match(/--push needs a signed tag, and there is no key to sign with/, said)
  end

  def test_an_unknown_option_is_refused
    said, status = release("--force")
    assert_equal 1, status.exitstatus
    assert_match(%r{bin/release: invalid option: --force; see bin/release --help}, said)
  end

  private

  # CycloneDX 1.5, https://cyclonedx.org/docs/1.5/json/: what it requires, and our facts.
  def assert_bill(sums)
    bill = JSON.parse(File.read(inside("pkg/neverblock-#{VERSION}.cdx.json")))
    assert_equal ["CycloneDX", "1.5", 1], bill.values_at("bomFormat", "specVersion", "version")
    assert_match(/\Aurn:uuid:\h{8}-\h{4}-8\h{3}-a\h{3}-\h{12}\z/, bill["serialNumber"])
    gem = bill.dig("metadata", "component")
    assert_equal ["application", "neverblock", VERSION, "pkg:gem/neverblock@#{VERSION}"],
                 gem.values_at("type", "name", "version", "purl")
    assert_equal [{ "alg" => "SHA-256", "content" => sums.fetch("neverblock-#{VERSION}.gem") }],
                 gem["hashes"]
    # The live page needs npm; its stand-in makes none.
    page = File.exist?(inside("lib/neverblock/watch/live.html")) ? ["uplot"] : []
    assert_equal %w[rack openssl libnghttp2 zlib libbrotlienc libzstd] + page,
                 bill["components"].map { |part| part.fetch("name") }
    assert_equal(bill["components"].map { |part| part.fetch("bom-ref") },
                 bill.dig("dependencies", 0, "dependsOn"))
  end

  def copy_parts
    PARTS.each do |name|
      target = inside(name)
      FileUtils.mkdir_p(File.dirname(target))
      FileUtils.cp_r(File.join(ROOT, name), target)
    end
  end

  def inside(name)
    File.join(@folder, name)
  end

  def write(name, text)
    FileUtils.mkdir_p(File.dirname(inside(name)))
    File.write(inside(name), text)
  end

  def stand_in(name, text)
    write("bin/#{name}", "#!/bin/sh\n#{text}\n")
    File.chmod(0o755, inside("bin/#{name}"))
  end

  # `gem push` writes down what it is given; every other command of gem is the real one.
  def stand_in_gem
    real = ENV.fetch("PATH").split(":").map { |each| File.join(each, "gem") }
              .find { |path| File.executable?(path) }
    FileUtils.mkdir_p("#{@folder}.bin")
    File.write("#{@folder}.bin/gem", <<~SH)
      #!/bin/sh
      [ "$1" = push ] || exec #{real} "$@"
      echo "$2" >>"#{@folder}.pushed"
    SH
    File.chmod(0o755, "#{@folder}.bin/gem")
  end

  def sign_with_ssh
    skip "ssh-keygen is not there" unless system("command -v ssh-keygen >/dev/null")
    key = inside(".git/key")
    system("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key, exception: true)
    git("config", "gpg.format", "ssh")
    git("config", "user.signingkey", "#{key}.pub")
  end

  def add_remote
    remote = "#{@folder}.git"
    git("init", "--quiet", "--bare", remote)
    git("remote", "add", "origin", remote)
    remote
  end

  def refs(remote)
    git("--git-dir", remote, "for-each-ref", "--format=%(refname)").lines(chomp: true)
  end

  def commit
    git("add", "--all")
    git("commit", "--quiet", "--message", "a commit")
  end

  # Nothing of this machine's own configuration or keys.
  def environment
    { "HOME" => @folder, "GNUPGHOME" => inside(".git/no-keys"), "GIT_CONFIG_NOSYSTEM" => "1",
      "GIT_CONFIG_GLOBAL" => File::NULL, "XDG_CONFIG_HOME" => inside(".git"), "RUBYOPT" => nil,
      "PATH" => "#{@folder}.bin:#{ENV.fetch("PATH")}", "SOURCE_DATE_EPOCH" => nil }
  end

  def git(*words)
    out, status = Open3.capture2e(environment, "git", *words, chdir: @folder)
    assert status.success?, out
    out
  end

  def release(*words)
    Open3.capture2e(environment, RbConfig.ruby, inside("bin/release"), *words, chdir: @folder)
  end

  def tree
    Dir.glob("**/*", base: @folder).reject { |name| File.directory?(inside(name)) }
  end
end
