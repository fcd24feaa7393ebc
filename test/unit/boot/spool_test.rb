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
    assert_equal ["request bodies over 64 KB have nowhere to wait and are answered 503: /no/such: there is no such folder; make it first; " \
                  "name another in TMPDIR or spool_directory"], Spool.check(nil, { "TMPDIR" => "/no/such" })
  end

  def test_what_is_missing_or_no_folder_is_named
    assert_equal "spool_directory /no/such: there is no such folder; make it first", refused("/no/such")
    assert_match(/it is no folder\z/, refused(__FILE__))
  end

  def test_a_folder_of_somebody_else_is_named
    Dir.mktmpdir do |directory|
      File.chmod(0o500, directory)
      child = fork do
        Process::Sys.setuid(65_534) if Process.uid.zero?
        exit!(refused(directory).end_with?("user #{Process.euid} may not make files there") ? 0 : 1)
      end
      assert_predicate Process.wait2(child).last, :success?
    end
  end

  private

  def refused(directory)
    assert_raises(NeverBlock::StartError) { Spool.check(directory) }.message
  end
end
