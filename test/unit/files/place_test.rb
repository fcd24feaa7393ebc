# frozen_string_literal: true

require_relative "../../support/unit"
require_relative "../../support/served_folder"
require "neverblock/files/place"

class FilesPlaceTest < Minitest::Test
  Place = NeverBlock::Files::Place

  NAMES = {
    "/" => [], "/a" => ["a"], "/a/" => ["a"], "/a%20b/c" => ["a b", "c"], "/%C3%BC" => ["\u00fc"],
    "/a%2520b" => ["a%20b"], "/a+b" => ["a+b"], "/%61" => ["a"],
    "/a..b/..c" => nil, "" => nil, "a" => nil, "//" => nil, "//a" => nil, "/a//" => nil,
    "/a//b" => nil, "/." => nil, "/.." => nil, "/../etc/passwd" => nil, "/a/../b" => nil,
    "/%2e%2e/x" => nil, "/%2e" => nil, "/.%2e/" => nil, "/a%2fb" => nil, "/a%2Fb" => nil,
    "/a%5cb" => nil, "/a\\b" => nil, "/%00" => nil, "/a%0a" => nil, "/a%7f" => nil,
    "/%c2%85" => nil, "/%" => nil, "/%4" => nil, "/%zz" => nil, "/%u0041" => nil, "/a b" => nil,
    "/\u00fc/\xC3%A9".b => ["\u00fc", "\u00e9"], "/a\tb" => nil, "/a\x7f" => nil,
    "/\xC2\x85".b => nil, "/caf\xE9".b => nil, "/\xC0\xAE\xC0\xAE/".b => nil, "/%C0\xAF".b => nil,
    "/%ff" => nil, "/%c0%ae%c0%ae/" => nil, "/%c0%af" => nil, "/%ed%a0%80" => nil,
    "/.git/config" => nil, "/a/.env" => nil,
    "/#{"a/" * 1023}a" => Array.new(1024, "a"), "/#{"a/" * 1024}b" => nil,
    "/#{"%41" * 3000}" => nil
  }.freeze

  def setup
    @served = ServedFolder.new("a.txt" => "a", "in/b.txt" => "b")
    @place = Place.new(@served.path)
  end

  def teardown
    @served.remove
  end

  NAMES.each do |path, names|
    said = names ? "what it says" : "nothing"
    define_method("test_the path #{path[0, 40].dump} of #{path.bytesize} bytes names #{said}") do
      found = @place.names(path)
      names ? assert_equal(names.map(&:b), found) : assert_nil(found)
    end
  end

  def test_what_is_encoded_is_decoded_to_the_same
    ["a b", "\u00fc:#?", "%41", "+&<>\"'", "a\u{1f600}"].each do |name|
      assert_equal [name.b], @place.names("/#{Place.encode(name)}")
    end
    assert_match(/\A[A-Za-z0-9._~%-]+\z/, Place.encode((33..126).map(&:chr).join))
  end

  def test_links_are_followed_inside_and_no_further
    @served.link("inside", "in")
    @served.link("absolute", File.join(@served.path, "in"))
    @served.link("outside", "..")
    assert_equal File.join(@served.path, "in"), @place.find(["inside"])
    assert_equal File.join(@served.path, "in"), @place.find(["absolute"])
    assert_nil @place.find(["outside"])
    assert_nil @place.find(["outside", "secret.txt"])
    assert_equal File.dirname(@served.path), Place.new(@served.path, :follow).find(["outside"])
  end

  def test_a_folder_beside_whose_name_begins_alike_is_outside # Rack CVE-2025-27610, CVE-2026-22860
    Dir.mkdir("#{@served.path}-old")
    @served.link("old", "#{@served.path}-old")
    assert_nil @place.find(["old"])
  end

  def test_the_name_of_the_root_is_no_pattern # Rack CVE-2026-34763
    @served.write("a+b.(c|[d]*/in.txt", "in")
    @served.write("aab.c/out.txt", "out")
    place = Place.new(File.join(@served.path, "a+b.(c|[d]*"))
    assert_equal File.join(@served.path, "a+b.(c|[d]*/in.txt").b, place.find(["in.txt"])
    File.symlink(File.join(@served.path, "aab.c"), File.join(@served.path, "a+b.(c|[d]*/out"))
    assert_nil place.find(["out", "out.txt"])
  end

  def test_links_of_the_owner_are_followed_anywhere_and_those_of_others_nowhere
    @served.link("mine", @served.beside("secret.txt"))
    place = Place.new(@served.path, :owner)
    assert_equal @served.beside("secret.txt"), place.find(["mine"])
    assert_equal File.join(@served.path, "in/b.txt"), place.find(["in", "b.txt"])
    skip "needs the superuser" unless Process.euid.zero?

    File.lchown(65_534, nil, File.join(@served.path, "mine"))
    assert_nil place.find(["mine"])
  end

  def test_the_root_of_the_machine_can_be_served
    assert_equal File.realpath("/usr").b, Place.new("/").find(["usr"])
  end
end
