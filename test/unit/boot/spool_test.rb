# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/boot/spool"
require "tmpdir"

class SpoolTest < Minitest::Test
  Spool = NeverBlock::Boot::Spool

  def test_a_folder_one_may_write_in_is_fine
    Dir.mktmpdir do |directory|
      assert_empty Spool.check(directory)
      assert_empty Spool.check(nil, { "TMPDIR" => directory })
    end
    assert_empty Spool.check(nil, {})
    assert_empty Spool.check(nil, { "TMPDIR" => "" })
  end

  def test_the_systems_own_that_is_of_no_use_is_a_line
    line = "request bodies over 64 KB get 503, because the folder for them cannot be used: " \
           "/no/such: there is no such folder; create it; " \
           "name another in TMPDIR or spool_directory"
    assert_equal [line], Spool.check(nil, { "TMPDIR" => "/no/such" })
  end

  def test_what_is_missing_or_no_folder_is_named
    assert_equal "spool_directory /no/such: there is no such folder; create it", refused("/no/such")
    assert_match(/it is not a folder\z/, refused(__FILE__))
  end

  def test_a_folder_of_somebody_else_is_named
    Dir.mktmpdir do |directory|
      File.chmod(0o500, directory)
      child = fork do
        Process::Sys.setuid(65_534) if Process.uid.zero?
        told = "user #{Process.euid} may not create files there"
        exit!(refused(directory).end_with?(told) ? 0 : 1)
      end
      assert_predicate Process.wait2(child).last, :success?
    end
  end

  private

  def refused(directory)
    assert_raises(NeverBlock::StartError) { Spool.check(directory) }.message
  end
end
