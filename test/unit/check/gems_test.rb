# frozen_string_literal: true

require_relative "../../support/unit"
require_relative "../../support/guide_tables"
require "neverblock/check/bundle"
require "neverblock/check/rules/gems"
require "tmpdir"
require "gems/support/use"

# What is known of gems, by their versions.
class CheckGemsTest < Minitest::Test
  Check = NeverBlock::Check
  # Gems that are there, and of these the ones that have been loaded.
  Fake = Struct.new(:gems, :used, :problem, :ignored, :gemfile_name) do
    def version(name) = gems[name] && Gem::Version.new(gems[name])
    def loaded?(name) = used.include?(name)
    def ignored? = ignored
  end
  Subject = Struct.new(:bundle, :app)

  # Gem, version => level of what is found, or nil.
  KNOWN = {
    %w[rack-timeout 0.7.0] => :serious,
    %w[request_store 1.6.0] => :serious,
    %w[request_store 1.7.0] => nil,
    %w[request_store 1.5.1] => nil,
    %w[activerecord 7.0.8] => :serious,
    %w[activerecord 7.1.0] => nil,
    %w[hiredis-client 0.31.0] => :warning,
    %w[pg 1.4.6] => :warning,
    %w[pg 1.5.0] => nil,
    %w[pg 1.8.0] => :note,
    %w[mysql2 0.5.4] => :warning,
    %w[mysql2 0.5.7] => nil,
    %w[trilogy 2.10.0] => :note,
    %w[trilogy 2.11.0] => nil,
    %w[curb 1.4.0] => nil,
    %w[sqlite3 1.7.3] => :note,
    %w[typhoeus 1.7.1] => :warning,
    %w[ffi-rzmq 2.0.7] => :warning,
    %w[httpx 1.9.0] => :note,
    %w[nokogiri 1.18.10] => nil
  }.freeze

  KNOWN.each do |(name, version), level|
    define_method("test_#{name} #{version} is #{level || "fine"}") do
      found = findings({ name => version }).reject { |finding| finding.rule == "gems-known" }
      level ? assert_equal([level], found.map(&:level)) : assert_empty(found)
      found.each { |finding| assert_operator finding.seen, :start_with?, "#{name} #{version} " }
    end
  end

  def test_a_gem_that_the_application_has_not_loaded_is_a_note_and_says_so
    finding, = findings({ "rack-timeout" => "0.7.0" }, used: [])
    assert_equal :note, finding.level
    assert_includes finding.seen, "this application has not loaded it"
  end

  def test_without_an_application_the_lock_file_counts
    finding, = findings({ "rack-timeout" => "0.7.0" }, used: [], app: nil)
    assert_equal :serious, finding.level
  end

  def test_what_is_known_to_be_fine_is_one_note
    found = findings({ "pg" => "1.7.0", "redis" => "5.4.1", "mysql2" => "0.5.4" })
      .find { |finding| finding.rule == "gems-known" }
    assert_includes found.seen, "pg 1.7.0, redis 5.4.1"
    refute_includes found.seen, "mysql2"
  end

  def test_a_gemfile_that_was_not_asked_is_told
    bundle = Fake.new({}, [], nil, true, "Gemfile")
    assert_equal(["bundler"], Check::Rules::Gems.call(Subject.new(bundle, nil)).map(&:rule))
  end

  def test_a_lock_file_is_found_from_a_folder_below_and_read
    Dir.mktmpdir do |directory|
      File.write(File.join(directory, "Gemfile"), "")
      File.write(File.join(directory, "Gemfile.lock"), LOCK)
      below = File.join(directory, "a/b")
      FileUtils.mkdir_p(below)
      bundle = Check::Bundle.new(below, {})
      assert_equal Gem::Version.new("0.6.3"), bundle.version("rack-timeout")
      assert_equal File.join(directory, "Gemfile.lock"), bundle.lock
      assert_equal false, bundle.loaded?("rack-timeout")
    end
  end

  LOCK = <<~TEXT
    GEM
      remote: https://gems.example/
      specs:
        rack-timeout (0.6.3)

    PLATFORMS
      ruby

    DEPENDENCIES
      rack-timeout
  TEXT

  def test_a_lock_file_with_the_marks_of_a_merge_is_told_and_no_error
    Dir.mktmpdir do |directory|
      File.write(File.join(directory, "Gemfile"), "")
      File.write(
        File.join(directory, "Gemfile.lock"), "<<<<<<< HEAD\n#{LOCK}=======\n>>>>>>> other\n"
      )
      bundle = Check::Bundle.new(directory, {})
      assert_match(/merge conflicts/, bundle.problem)
      assert_includes Check::Rules::Gems.call(Subject.new(bundle, nil)).map(&:rule), "lock-file"
    end
  end

  def test_a_lock_file_that_this_user_may_not_read_is_not_written_anew
    skip "needs proc(5)" unless File.exist?("/proc/self/mem")

    Dir.mktmpdir do |directory|
      File.write(File.join(directory, "Gemfile"), "")
      # A file that exists and that even root cannot read.
      File.symlink("/proc/self/mem", File.join(directory, "Gemfile.lock"))
      bundle = Check::Bundle.new(directory, {})
      finding = Check::Rules::Gems.call(Subject.new(bundle, nil))
        .find { |one| one.rule == "lock-file" }
      assert_match(%r{/Gemfile\.lock cannot be read: (Input/output error|Permission)}, finding.seen)
      assert_equal "make it readable for user #{Process.euid}", finding.mend
    end
  end

  def test_a_lock_file_is_read_in_utf_8_whatever_the_locale_is
    before = Encoding.default_external
    Dir.mktmpdir do |directory|
      File.write(File.join(directory, "Gemfile"), "")
      lock = "PATH\n  remote: ../caf\u00E9\n  specs:\n    caf (1.0)\n\n#{LOCK}"
      [lock, lock.sub("\u00E9", "\xE9")].each do |text|
        File.binwrite(File.join(directory, "Gemfile.lock"), text)
        silently { Encoding.default_external = Encoding::US_ASCII }
        bundle = Check::Bundle.new(directory, {})
        assert_nil bundle.problem
        assert_equal Gem::Version.new("0.6.3"), bundle.version("rack-timeout")
      end
    end
  ensure
    silently { Encoding.default_external = before }
  end

  # Bundler.require sets this up without bundler/setup.
  def test_a_gemfile_that_the_application_has_asked_is_not_told
    Dir.mktmpdir do |directory|
      File.write(File.join(directory, "Gemfile"), "")
      env = { "RUBYOPT" => "-r/usr/lib/ruby/vendor_ruby/bundler/setup" }
      without_setup do
        assert_predicate Check::Bundle.new(directory, {}), :ignored?
        refute_predicate Check::Bundle.new(directory, env), :ignored?
      end
    end
  end

  def test_a_gem_of_this_process_is_known_to_be_loaded
    assert Check::Bundle.new(Dir.pwd).loaded?("minitest")
  end

  def test_the_guide_has_the_table
    table = GuideTables::Gems::GUIDE_TABLE
    text = File.read(table.path)
    assert_equal text, table.renew(text), "ruby -Ilib test/support/guide_tables.rb renews it"
  end

  # The note of a use is a column of docs/COMPATIBILITY.md.
  # `check` tells it, with the mend, to whoever has the gem.
  def test_each_gem_of_the_matrix_that_has_a_note_is_named_with_a_mend
    gemfile = File.read(File.expand_path("../../gems/Gemfile", __dir__))
    noted = ::Gems.load.each_value.select(&:word).to_h do |use|
      [use.name, gemfile[/^gem "#{use.name}", "(.+?)"/, 1]]
    end
    refute_empty noted
    noted.each do |name, version|
      finding = findings({ name => version }).find { |found| found.rule == "gem-#{name}" }
      assert finding&.mend, "#{name} #{version} has a note and no row of gem_table.rb"
    end
  end

  # Libraries of the other table that ask something of who uses them.
  def test_each_client_library_that_needs_a_word_is_named
    %w[dalli hiredis-client http httpx net-http-persistent typhoeus].each do |name|
      assert_equal(["gem-#{name}"], findings({ name => "1.0" }).map(&:rule), name)
    end
  end

  def test_gems_that_the_guide_to_unchanged_code_names_are_named
    guide = File.read(File.expand_path("../../../docs/guides/unchanged.md", __dir__))
    text = guide[/^## What needs a hand.*?^## /m]
    {
      "rack-timeout" => "rack-timeout", "`Async { }`" => "async", "`EM.run`" => "eventmachine"
    }.each do |words, name|
      assert_includes text, words
      assert_equal(["gem-#{name}"], findings({ name => "1.0" }).map(&:rule))
    end
  end

  def test_pages_that_rows_name_are_there
    pages = Check::GemTable::ROWS.map { |row| row.guide.sub(/#.*/, "") }.uniq
    pages.each { |page| assert_path_exists File.expand_path("../../../#{page}", __dir__) }
  end

  private

  # With the files that Ruby has loaded, but for Bundler's.
  def without_setup
    setup = $LOADED_FEATURES.grep(%r{/bundler/setup\.rb\z})
    setup.each { |feature| $LOADED_FEATURES.delete(feature) }
    yield
  ensure
    $LOADED_FEATURES.concat(setup)
  end

  def silently
    before = $VERBOSE
    $VERBOSE = nil
    yield
  ensure
    $VERBOSE = before
  end

  def findings(gems, used: gems.keys, app: -> {})
    Check::Rules::Gems.call(Subject.new(Fake.new(gems, used), app))
  end
end
