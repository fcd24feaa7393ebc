# frozen_string_literal: true

require "open3"
require "rbconfig"

# What `require "neverblock"` loads: a script that uses the verbs pays for nothing that only a
# server or a database's driver needs.
class LibraryTest < Minitest::Test
  LIB = File.expand_path("../../lib", __dir__)
  # Of Ruby's own library, beyond what Ruby has loaded at its start.
  RUBYS = %w[io/nonblock io/wait objspace pathname socket stringio timeout].freeze

  LOADED = <<~RUBY
    before = $LOADED_FEATURES.dup
    require "neverblock"
    puts $LOADED_FEATURES - before
  RUBY

  def test_of_rubys_library_it_loads_what_the_scheduler_and_its_patches_need
    others = loaded.reject { |path| path.start_with?(LIB) }
    names = others.map { |path| name_of(path) }.uniq
    assert_empty names - RUBYS
    assert_includes names, "socket"
  end

  def test_the_server_and_patches_of_drivers_are_not_loaded
    ours = loaded.filter_map { |path| path[%r{\A#{Regexp.escape(LIB)}/neverblock/(.*)\.rb\z}, 1] }
    assert_includes ours, "scheduler"
    assert_empty(ours.grep(%r{\A(server(/(?!serving\b)|\z)|tls/acme|downloads/|cli/|watch/)}))
    assert_empty(ours.grep(%r{\Adb/(mysql2|pg|sqlite3|trilogy)}))
  end

  def test_the_server_is_loaded_when_it_is_named
    assert_equal "NeverBlock::Server\n", run_ruby('require "neverblock"; puts NB::Server')
  end

  private

  def loaded
    run_ruby(LOADED).lines(chomp: true)
  end

  # Below the folders of Ruby's library, also of those in C.
  def name_of(path)
    folders = RbConfig::CONFIG.values_at("rubylibdir", "rubyarchdir")
    folder = folders.sort_by { |each| -each.size }.find { |each| path.start_with?("#{each}/") }
    path.delete_prefix("#{folder}/").sub(/\.(rb|so|bundle)\z/, "")
  end

  # Without what the bundle of the tests loads.
  def run_ruby(code)
    clean = %w[RUBYOPT RUBYLIB BUNDLE_GEMFILE GEM_HOME GEM_PATH].to_h { |name| [name, nil] }
    output, status = Open3.capture2e(clean, RbConfig.ruby, "-I#{LIB}", "-e", code)
    assert status.success?, output
    output
  end
end
