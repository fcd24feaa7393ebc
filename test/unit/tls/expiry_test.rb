# frozen_string_literal: true

require_relative "../../support/fake_native"
require_relative "../../support/certificates"
require "neverblock/tls/expiry"
require "neverblock/tls/identity"

class ExpiryTest < Minitest::Test
  AUTHORITY = Certificates.new
  DAY_S = 86_400
  TILL = Time.utc(2030, 3, 31, 12)
  Clock = Struct.new(:now)

  def setup
    @log = FakeNative::Log.new
    @clock = Clock.new(TILL - (40 * DAY_S))
    @expiry = NeverBlock::TLS::Expiry.new(@log, clock: @clock)
  end

  # Every hour until a week after the end.
  def test_each_stage_is_told_once
    told = (-40 * 24..7 * 24).filter_map do |hour|
      line = at(TILL + (hour * 3_600)) { look }
      [hour, line[/in less than [^,]+|expired/]] unless line.empty?
    end
    assert_equal [[1 - (14 * 24), "in less than 14 days"], [1 - (7 * 24), "in less than 7 days"],
                  [1 - (3 * 24), "in less than 3 days"], [1 - 24, "in less than a day"],
                  [1, "expired"]], told
  end

  def test_the_line_says_what_to_do
    assert_equal "warning: the certificate /a.pem expires in less than 3 days, on " \
                 "2030-03-31 12:00 UTC; renew it\n",
                 at(TILL - (2 * DAY_S)) { look }.sub(/\Aneverblock: \S+ /, "")
  end

  def test_a_server_that_starts_late_says_the_nearest_stage_and_no_two_lines_in_a_day
    assert_match(/in less than 3 days/, at(TILL - DAY_S - 3_600) { look })
    assert_empty at(TILL - DAY_S + 1) { look }
    assert_match(/expired/, at(TILL + 1) { look }, "the end is told in any case")
    assert_empty at(TILL + 2) { look }
  end

  def test_an_expired_one_is_told_each_time_its_files_are_read
    3.times { assert_match(/expired on/, at(TILL + DAY_S) { look(read: true) }) }
    assert_empty at(TILL + DAY_S) { look }
  end

  def test_one_that_is_not_valid_yet_is_told_when_its_files_are_read
    assert_empty at(TILL - (400 * DAY_S)) { look }
    assert_match(/is valid from/, at(TILL - (400 * DAY_S)) { look(read: true) })
  end

  def test_a_renewed_certificate_begins_anew
    refute_empty at(TILL - DAY_S) { look }
    renewed = identity(till: TILL + (90 * DAY_S))
    assert_empty at(TILL - DAY_S) { look(renewed, read: true) }
    assert_match(/in less than 14 days/, at(TILL + (80 * DAY_S)) { look(renewed) })
  end

  def test_one_file_of_two_addresses_is_told_once
    refute_empty(at(TILL - DAY_S) { look(identity) })
    assert_empty(at(TILL - DAY_S) { look(identity) })
    refute_empty(at(TILL - DAY_S) { look(identity(path: "/b.pem")) })
  end

  def test_a_certificate_made_in_memory_is_nobodys_to_renew
    assert_empty(at(TILL + DAY_S) { look(identity(path: nil), read: true) })
  end

  private

  def at(time)
    @clock.now = time
    before = @log.text.size
    yield
    @log.text[before..]
  end

  def look(one = identity, **options)
    @expiry.look(one, **options)
  end

  def identity(till: TILL, path: "/a.pem")
    files = path && NeverBlock::TLS::Identity::Files.new(path, path)
    issued = AUTHORITY.issue("a.test", from: TILL - (90 * DAY_S), till: till)
    NeverBlock::TLS::Identity.new([issued.certificate], issued.key, files: files)
  end
end
