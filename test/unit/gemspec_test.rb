# frozen_string_literal: true

# The gem holds what building and running it needs, and nothing of the development tree.

require "test_helper"
require "fileutils"
require "open3"
require "rbconfig"
require "tmpdir"

class GemspecTest < Minitest::Test
  ROOT = File.expand_path("../..", __dir__)
  SPEC = Gem::Specification.load(File.join(ROOT, "neverblock.gemspec"))
  BENCH = Gem::Specification.load(File.join(ROOT, "bench/neverblock-bench.gemspec"))

  def test_every_source_and_header_is_in_the_gem
    sources = Dir.glob("ext/**/*.{c,h}", base: ROOT)
    refute_empty sources
    assert_empty sources - SPEC.files
    assert_includes SPEC.files, "ext/neverblock/depend"
    assert_equal ["ext/neverblock/extconf.rb"], SPEC.extensions
  end

  def test_every_ruby_file_of_lib_is_in_the_gem
    assert_empty Dir.glob("lib/**/*.rb", base: ROOT) - SPEC.files
    assert_includes SPEC.files, "exe/neverblock"
  end

  def test_the_files_of_the_deployment_guide_are_in_the_gem
    guide = File.read(File.join(ROOT, "docs/guides/deploying.md"))
    named = guide.scan(%r{\((?:\.\./)+(examples/deploy/[^)]+)\)}).flatten
    assert_operator named.size, :>=, 5
    assert_empty named - SPEC.files
  end

  def test_no_product_no_test_and_no_benchmark_is_in_the_gem
    others = %r{\A((test|build|tmp|vendor|bin|bench|benchmark)/|examples/(?!deploy/))}
    assert_empty SPEC.files.grep(others)
    assert_empty SPEC.files.grep(/\.(o|so|bundle)\z/)
    assert_empty SPEC.files.grep(%r{\A(lib|sig)/(.*/)?bench(/|\.)})
  end

  def test_the_benchmark_tool_is_a_gem_of_the_same_version
    assert_empty Dir.glob("lib/**/*.rb", base: File.join(ROOT, "bench")) - BENCH.files
    assert_includes BENCH.files, "lib/neverblock/bench/cli.rb"
    assert_equal SPEC.version, BENCH.version
    dependencies = BENCH.runtime_dependencies.map do |dependency|
      [dependency.name, dependency.requirement.to_s]
    end
    assert_equal [[NeverBlock::GEM_NAME, "= #{SPEC.version}"]], dependencies
  end

  def test_the_name_stands_in_one_place
    assert_equal NeverBlock::GEM_NAME, SPEC.name
    assert_includes SPEC.files, "lib/#{SPEC.name}.rb"
    name = "GEM_NAME = \"neverblock\""
    Dir.mktmpdir do |folder|
      copy = File.join(folder, "lib/neverblock/version.rb")
      FileUtils.mkdir_p(File.dirname(copy))
      FileUtils.cp(File.join(ROOT, "neverblock.gemspec"), folder)
      File.write(copy, File.read(File.join(ROOT, "lib/neverblock/version.rb"))
                           .sub(name, "GEM_NAME = \"neverblock-server\""))
      said, status = load_gemspec(folder)
      refute status.success?
      assert_match(%r{lib/neverblock-server.rb is missing: it has to require "neverblock"}, said)
      FileUtils.touch(File.join(folder, "lib/neverblock-server.rb"))
      assert_equal "neverblock-server", load_gemspec(folder).first
    end
  end

  def test_what_it_asks_for
    assert_equal "2.0.0.pre", SPEC.version.to_s
    assert SPEC.required_ruby_version.satisfied_by?(Gem::Version.new("3.1.0"))
    refute SPEC.required_ruby_version.satisfied_by?(Gem::Version.new("3.0.9"))
    rack = SPEC.runtime_dependencies.find { |dependency| dependency.name == "rack" }
    versions = %w[2.2.4 3.1.0 3.2.8 4.0 2.2.3].map { |version| Gem::Version.new(version) }
    assert_equal [true, true, true, false, false],
                 versions.map { |version| rack.requirement.satisfied_by?(version) }
  end

  private

  # In a Ruby that has not loaded this version.rb yet.
  def load_gemspec(folder)
    code = "file = File.expand_path('neverblock.gemspec')\n" \
           "print eval(File.read(file), binding, file).name"
    Open3.capture2e({ "RUBYOPT" => nil }, RbConfig.ruby, "-e", code, chdir: folder)
  end
end
