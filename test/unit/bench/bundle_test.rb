# frozen_string_literal: true

require_relative "bench_case"

# Bundles of no gems at all: bundler runs for real, and nothing comes from the network.
class BenchBundleTest < BenchCase
  def test_a_bundle_is_installed_once_and_says_so
    with_bundle do |bundle|
      refute bundle.installed?
      said = []
      2.times { bundle.install { |text| said << text } }
      assert_equal 1, said.size
      assert_match(/installing its gems into .*home.standin \(once\)/, said.first)
      assert bundle.installed?
    end
  end

  def test_a_changed_gemfile_is_installed_again
    with_bundle do |bundle, root|
      bundle.install
      File.write(gemfile(root), "# another version\n")
      refute bundle.installed?
      bundle.install
      assert bundle.installed?
    end
  end

  def test_the_lock_file_never_lands_beside_the_committed_gemfile
    with_bundle do |bundle, root|
      bundle.install
      assert_equal ["Gemfile"], Dir.children(File.dirname(gemfile(root)))
    end
  end

  def test_a_gem_that_cannot_be_had_is_an_error_with_the_mend
    with_bundle("gem \"neverblock-no-such-gem\", path: \"/nowhere\"\n") do |bundle|
      error = assert_raises(Error) { bundle.install }
      assert_match(/bundle install failed \(.*\/nowhere.*\); .*--peers/, error.message)
    end
  end

  def test_the_caller_s_own_bundle_is_not_seen
    with_bundle do |bundle|
      with_environment("BUNDLE_GEMFILE" => "/nowhere/Gemfile", "RUBYOPT" => "-W0") do
        bundle.install
      end
      assert bundle.installed?
    end
  end

  def test_the_environment_of_a_server_names_its_gemfile_and_its_gems
    with_bundle do |bundle|
      assert_equal %w[BUNDLE_GEMFILE BUNDLE_PATH BUNDLE_APP_CONFIG], bundle.environment.keys
      assert_equal bundle.gemfile, bundle.environment["BUNDLE_GEMFILE"]
    end
  end

  def test_peers_share_their_gems_unless_how_they_were_built_matters
    gems = [true, false].map do |shared|
      bundle = Bundle.new("standin", root: "/root", home: "/home", shared: shared)
      bundle.environment["BUNDLE_PATH"]
    end
    assert_equal ["/home/gems", "/home/standin/gems"], gems
  end

  def test_a_version_is_read_from_the_lock_file
    with_bundle do |bundle|
      assert_nil bundle.version("puma")
      FileUtils.mkdir_p(File.dirname(bundle.gemfile))
      File.write("#{bundle.gemfile}.lock", "GEM\n  specs:\n    nio4r (2.7.5)\n    " \
                                           "puma (8.0.2)\n      nio4r (~> 2.0)\n")
      assert_equal "8.0.2", bundle.version("puma")
      assert_equal "2.7.5", bundle.version("nio4r"), "not what another gem asks for"
    end
  end

  def test_a_checkout_keeps_its_bundles_and_an_installed_gem_uses_the_cache
    Dir.mktmpdir do |root|
      Dir.mkdir(File.join(root, "benchmark"))
      assert_equal File.join(root, "vendor/bench"), Bundle.home(root)
      with_environment("XDG_CACHE_HOME" => "/cache") do
        assert_equal "/cache/neverblock/bench", Bundle.home(File.join(root, "elsewhere"))
      end
    end
  end

  private

  def with_bundle(content = "# no gems\n")
    Dir.mktmpdir do |root|
      FileUtils.mkdir_p(File.dirname(gemfile(root)))
      File.write(gemfile(root), content)
      yield Bundle.new("standin", root: root, home: File.join(root, "home")), root
    end
  end

  def gemfile(root)
    File.join(root, "benchmark/peers/standin/Gemfile")
  end

  def with_environment(values)
    before = ENV.to_h.slice(*values.keys)
    values.each { |name, value| ENV[name] = value }
    yield
  ensure
    values.each_key { |name| ENV[name] = before[name] }
  end
end
