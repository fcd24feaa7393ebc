# frozen_string_literal: true

require_relative "bench_case"

class BenchCProgramTest < BenchCase
  def setup
    @home = Dir.mktmpdir
  end

  def teardown
    FileUtils.rm_rf(@home)
  end

  def test_it_is_built_once_and_again_when_its_source_is_newer
    path = CProgram.new("open_loop", home: @home).build
    assert File.executable?(path)
    old = Time.at(File.mtime(File.join(ROOT, "benchmark/c/open_loop.c")).to_i + 10)
    File.utime(old, old, path)
    CProgram.new("open_loop", home: @home).build
    assert_equal old, File.mtime(path)
    File.utime(0, 0, path)
    CProgram.new("open_loop", home: @home).build
    refute_equal Time.at(0), File.mtime(path)
    assert_equal ["open_loop"], Dir.children(@home)
  end

  # Also those that measure the core, which are built by hand.
  def test_each_source_fits_the_core_as_it_is
    Dir[File.join(ROOT, "benchmark/c/*.c")].each do |source|
      told, status = Open3.capture2e("cc", "-std=c11", "-D_GNU_SOURCE", "-fsyntax-only",
                                     "-I#{ROOT}/ext/neverblock/core", source)
      assert_predicate status, :success?, told
    end
  end

  def test_a_source_that_does_not_compile_is_an_error
    Child.stub(:capture, "open_loop.c:1:1: error: x\nmore\n") do
      error = assert_raises(Error) { CProgram.new("open_loop", home: @home).build }
      assert_equal "open_loop.c does not compile: open_loop.c:1:1: error: x\n", error.message
    end
  end

  def test_without_a_compiler_it_says_so
    Child.stub(:capture, ->(*, **) { raise Errno::ENOENT }) do
      error = assert_raises(Error) { CProgram.new("open_loop", home: @home).build }
      assert_equal CProgram::MISSING, error.message
    end
  end
end
