# frozen_string_literal: true

require_relative "bench_case"

class BenchFileSetTest < BenchCase
  def setup
    @files = FileSet.new
  end

  def teardown
    @files.remove
  end

  def test_a_file_has_the_size_of_its_name
    names = %w[1KB.bin 64KiB.bin 2MB.bin 1MiB.bin 3KB-7.bin]
    assert_equal [1_000, 65_536, 2_000_000, 1_048_576, 3_000],
                 names.map { |name| File.size(@files.entry(name).disk) }
  end

  def test_a_name_without_a_size_is_an_error
    error = assert_raises(Error) { @files.entry("../passwd") }
    assert_match(/must be a size such as 64KiB.bin or 20MB.bin/, error.message)
  end

  def test_no_two_parts_of_the_files_are_the_same
    data = File.binread(@files.entry("2MB.bin").disk)
    refute_equal data[0, 1_000_000], data[1_000_000, 1_000_000]
  end

  def test_a_file_is_made_once_and_known_by_its_url_and_time
    entry = @files.entry("1KB.bin")
    assert_same entry, @files.entry("1KB.bin")
    assert_equal ["/1KB.bin", File.mtime(entry.disk).httpdate], [entry.url, entry.modified_text]
  end

  def test_it_changed_long_ago
    assert_operator Time.now - @files.entry("1KB.bin").modified, :>=, FileSet::AGE_SECONDS
  end

  def test_others_may_enter_and_read
    assert_equal [0o755, 0o044], [File.stat(@files.directory).mode & 0o777,
                                  File.stat(@files.entry("1KB.bin").disk).mode & 0o044]
  end

  def test_there_is_what_a_fresh_server_is_asked_for
    assert_equal "Hello World", File.read(File.join(@files.directory, FileSet::PROBE))
  end

  def test_nothing_is_left
    @files.remove
    refute_path_exists @files.directory
  end
end
