# frozen_string_literal: true

require_relative "../../../support/unit"
require "neverblock/tls/acme"
require "openssl"
require "tmpdir"

class AcmeFolderTest < Minitest::Test
  Folder = NeverBlock::TLS::Acme::Folder
  Unusable = NeverBlock::TLS::Unusable

  def setup
    @root = Dir.mktmpdir("acme-folder")
    @path = File.join(@root, "a", "b")
    @folder = Folder.new(@path)
  end

  def teardown
    FileUtils.rm_rf(@root)
  end

  def test_folders_and_files_are_the_users_alone
    @folder.prepare
    @folder.write(File.join(@path, "x.pem"), "text")
    @folder.account_key
    @folder.alone { nil }
    modes = Dir.glob("#{@root}/**/*").to_h { |path|
      [File.basename(path), File.stat(path).mode & 0o777]
    }
    assert_equal({ "a" => 0o700, "b" => 0o700, "x.pem" => 0o600, "account.key" => 0o600,
                   "lock" => 0o600 }, modes)
  end

  def test_the_accounts_key_is_made_once
    first = @folder.prepare.account_key
    assert_equal first.private_to_pem, Folder.new(@path).account_key.private_to_pem
    File.write(File.join(@path, "account.key"), "oops")
    error = assert_raises(Unusable) { @folder.account_key }
    assert_match(/the account's key \S+ is broken; remove the file/, error.message)
  end

  def test_a_file_is_replaced_as_a_whole_or_not_at_all
    path = File.join(@folder.prepare && @path, "x.pem")
    @folder.write(path, "old")
    before = File.open(path)
    @folder.write(path, "new")
    assert_equal %w[old new], [before.read, File.read(path)]
    in_the_way = File.join(@path, "folder.pem")
    Dir.mkdir(in_the_way)
    assert_raises(SystemCallError) { @folder.write(in_the_way, "third") }
    assert_equal %w[folder.pem x.pem], Dir.children(@path).sort
  ensure
    before&.close
  end

  def test_what_a_writer_that_has_ended_left_is_in_nobodys_way
    path = File.join(@folder.prepare && @path, "x.pem")
    File.write("#{path}.#{Process.pid}.new", "half")
    @folder.write(path, "whole")
    assert_equal "whole", File.read(path)
  end

  def test_one_at_a_time
    @folder.prepare
    seen = []
    other = Folder.new(@path)
    assert(@folder.alone { seen << other.alone { seen << :second } })
    assert_equal [false], seen
    assert(other.alone { seen << :afterwards })
    assert_raises(IOError) { @folder.alone { raise IOError } }
    assert(other.alone { nil }, "an error gives the lock back")
    assert_equal [false, :afterwards], seen
  end

  def test_a_folder_that_cannot_be_is_told_with_the_mend
    File.write(File.join(@root, "a"), "")
    error = assert_raises(Unusable) { @folder.prepare }
    assert_match(/\Atls { acme } cannot keep certificates in #{@path}: \S.*; name another folder/,
                 error.message)
    refute_match(/ @ /, error.message)
  end

  def test_a_folder_that_may_not_be_written_to_is_told
    skip "only the superuser may become another user" unless Process.euid.zero?

    @folder.prepare
    [@root, File.dirname(@path), @path].each { |path| File.chmod(0o755, path) }
    assert_match(/user #{NOBODY} may not write there/, as_nobody { @folder.prepare })
  end

  private

  NOBODY = 65_534
  private_constant :NOBODY

  # @return [String] the message of the error that the block raises as another user
  def as_nobody
    reader, writer = IO.pipe
    pid = fork do
      Process::Sys.setuid(NOBODY)
      writer.write(assert_raises(Unusable) { yield }.message)
    ensure
      writer.close
      exit!
    end
    writer.close
    Process.wait(pid)
    reader.read
  ensure
    reader.close
  end
end
