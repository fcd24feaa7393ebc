# frozen_string_literal: true

require_relative "bench_case"

class BenchCatalogTest < BenchCase
  def test_what_has_a_file_can_be_run
    assert_equal %w[hello delays], Catalog.new.names.first(2)
  end

  def test_a_benchmark_still_to_come_says_so
    Dir.mktmpdir do |directory|
      File.write(File.join(directory, "hello.rb"), "")
      error = assert_raises(Error) { Catalog.new(directory: directory).find("mysql") }
      assert_equal "benchmark mysql does not exist yet; known are hello, all", error.message
    end
  end

  def test_an_unknown_name_is_answered_with_those_there_are
    error = assert_raises(Error) { Catalog.new.find("helo") }
    assert_match(/no benchmark is called "helo"; known are hello, delays/, error.message)
  end

  def test_a_name_is_never_a_path
    assert_raises(Error) { Catalog.new.find("../benchmark/hello") }
  end

  def test_an_installation_without_benchmarks_says_where_they_are
    error = assert_raises(Error) { Catalog.new(directory: "/nowhere").find("hello") }
    assert_match(/checkout/, error.message)
  end
end
