# frozen_string_literal: true

require_relative "bench_case"
require_relative "../../support/patience"

class BenchThrottledFolderTest < BenchCase
  BYTES_PER_SECOND = 50_000_000

  def setup
    @home = Dir.mktmpdir
    @file = File.join(@home, "a file.bin")
    File.binwrite(@file, Random.bytes(300_000))
    File.utime(0, 1_000_000_000, @file)
  end

  def teardown
    @folder&.remove
    FileUtils.rm_rf(@home)
  end

  def test_files_are_there_with_their_content_and_time_and_others_may_read_them
    copy = File.join(make.directory, "a file.bin")
    assert_equal [File.binread(@file), Time.at(1_000_000_000)],
                 [File.binread(copy), File.mtime(copy)]
    assert_equal 0o755, File.stat(@folder.directory).mode & 0o777
  end

  def test_its_disk_is_throttled_and_nobody_can_write_there
    number = device_number(make.directory)
    assert_includes File.readlines(ThrottledFolder::THROTTLE, chomp: true),
                    "#{number} #{BYTES_PER_SECOND}"
    assert_raises(Errno::EROFS) { File.write(File.join(@folder.directory, "new"), "") }
  end

  def test_nothing_is_left_when_it_is_removed_though_somebody_reads
    number = device_number(make.directory)
    File.open(File.join(@folder.directory, "a file.bin")) { @folder.remove }
    assert_nothing_left(number)
  end

  def test_nothing_is_left_when_its_process_is_killed
    skip_without_disk
    reader, writer = IO.pipe
    pid = fork do
      folder = cold_folder
      writer.puts(device_number(folder.directory))
      writer.close
      sleep
    end
    writer.close
    number = reader.gets.to_s.chomp
    Process.kill(:KILL, pid)
    Process.wait(pid)
    refute_empty number
    # The guard is not a child of this process, so there is no exit status to wait for.
    Patience.await("its guard takes the folder away") { !File.exist?(File.join(@home, "cold")) }
    assert_nothing_left(number)
  end

  def test_what_cannot_be_made_leaves_nothing
    skip_without_disk
    assert_raises(Error) { cold_folder("x") }
    assert_equal [@file], Dir.children(@home).map { |name| File.join(@home, name) }
  end

  def test_who_is_not_root_is_told
    Process.stub(:uid, Struct.new(:zero?).new(false)) do
      assert_equal "it needs root", ThrottledFolder.obstacle
      error = assert_raises(Error) do
        ThrottledFolder.new(@home, files: [], bytes_per_second: 1)
      end
      assert_equal "no slow disk: it needs root", error.message
    end
  end

  private

  def make
    skip_without_disk
    @folder = cold_folder
  end

  def cold_folder(rate = BYTES_PER_SECOND)
    ThrottledFolder.new(File.join(@home, "cold"), files: [@file], bytes_per_second: rate)
  end

  def skip_without_disk
    skip ThrottledFolder.obstacle if ThrottledFolder.obstacle
    skip "there are no loop devices" unless File.exist?("/dev/loop-control")
  end

  def device_number(directory)
    major_minor = File.stat(directory).dev
    "#{major_minor >> 8}:#{major_minor & 0xff}"
  end

  def mounted?
    File.read("/proc/mounts").include?(@home)
  end

  def assert_nothing_left(number)
    refute mounted?
    assert_equal [@file], Dir.children(@home).map { |name| File.join(@home, name) }
    refute_includes File.read(ThrottledFolder::THROTTLE), "#{number} #{BYTES_PER_SECOND}"
  end
end
