# frozen_string_literal: true

require_relative "../../support/unit"
require_relative "../../support/served_folder"
require "neverblock"
require "neverblock/files/listing"

class FilesListingTest < Minitest::Test
  Folder = NeverBlock::Files::Folder
  Listing = NeverBlock::Files::Listing
  ODD = [
    "<b>&\"'.txt", "a:b #?%41", "\u00fcmlaut \u{1f600}", "-n", "~", "javascript:alert(1)"
  ].freeze

  def setup
    @served = ServedFolder.new(
      "b.txt" => "12", "A.txt" => "1234", "sub/x" => "",
      ".hidden" => "out of sight", ".well-known/x" => ""
    )
    File.utime(0, Time.at(1_700_000_000), File.join(@served.path, "b.txt"))
    @listing = Listing.new(@served.path)
  end

  def teardown
    @served.remove
  end

  def get(path, query = "", method: "GET", accept: nil, script: "", listing: @listing)
    env = {
      "REQUEST_METHOD" => method, "SCRIPT_NAME" => script,
      "PATH_INFO" => path, "QUERY_STRING" => query
    }
    env["HTTP_ACCEPT"] = accept if accept
    status, headers, body = listing.call(env)
    [status, headers, body.join]
  end

  def json(path = "/", query = "", **options)
    status, _, body = get(path, query, accept: "application/json", **options)
    assert_equal 200, status
    JSON.parse(body)
  end

  def names(query = "")
    json("/", query).fetch("entries").map { |entry| entry["name"] }
  end

  # Another value of a constant of Folder, for the block.
  def with_bound(name, value)
    previous = Folder.send(:remove_const, name)
    Folder.const_set(name, value)
    yield
  ensure
    Folder.send(:remove_const, name)
    Folder.const_set(name, previous)
  end

  def test_folders_come_first_and_names_in_the_order_of_a_dictionary
    assert_equal %w[sub A.txt b.txt], names
    assert_equal %w[sub b.txt A.txt], names("sort=-name")
  end

  def test_sorted_by_size_and_by_time_both_ways
    assert_equal %w[sub b.txt A.txt], names("sort=size")
    assert_equal %w[sub A.txt b.txt], names("sort=-size")
    assert_equal %w[sub b.txt A.txt], names("sort=time")
    assert_equal %w[sub A.txt b.txt], names("sort=-time")
  end

  def test_what_a_query_says_otherwise_is_passed_over
    queries = [
      "sort=", "sort", "sort=-", "sort=colour", "=", "&&", "&a=1", "a=1&&b=2",
      "page=-1", "page=x", "page=99999999999999999999", "page", "%zz"
    ]
    queries.each { |query| assert_equal %w[sub A.txt b.txt], names(query), query }
  end

  def test_names_that_begin_with_a_dot_are_not_shown
    refute_match(/hidden|well-known/, get("/").last)
  end

  def test_odd_names_are_escaped_and_their_links_lead_back_to_them
    ODD.each { |name| @served.write(name, "x") }
    page = get("/").last
    refute_includes page, "<b>"
    assert_includes page, "&lt;b&gt;&amp;&quot;&#39;.txt</a>"
    place = NeverBlock::Files::Place.new(@served.path)
    links = json.fetch("entries").map { |entry| entry.fetch("href") }
    ODD.each { |name| assert_includes links.map { |href| place.names("/#{href}")&.first }, name.b }
    links.each { |href| assert_includes page, %(href="#{href}") }
    refute_match(/href="[a-z]+:/, page) # Rack CVE-2026-25500
  end

  def test_names_that_no_request_can_have_are_shown_without_a_link
    ["bad\xff", "back\\slash", "line\nbreak"].each do |name|
      File.write(File.join(@served.path.b, name.b), "")
    end
    entries = json.fetch("entries").reject { |entry| entry["href"] }
    assert_equal ["back\\slash", "bad\u{fffd}", "line\u{fffd}break"],
                 (entries.map { |entry| entry["name"] }).sort
    page = get("/").last
    assert page.valid_encoding?
    assert_includes page, "<td>back\\slash</td>"
  end

  def test_size_and_time_of_each
    entry = json.fetch("entries").last
    assert_equal(
      {
        "name" => "b.txt", "type" => "file", "size" => 2,
        "modified" => "2023-11-14T22:13:20Z", "href" => "b.txt"
      },
      entry
    )
    assert_includes get("/").last, %(<time datetime="2023-11-14T22:13:20Z">)
  end

  def test_the_way_back_up
    @served.write("sub/deep er/x", "")
    page = get("/sub/deep%20er/").last
    assert_includes page, '<h1><a href="/" aria-label="top">/</a><a href="/sub/">sub</a>/' \
                          '<a href="/sub/deep%20er/">deep er</a>/</h1>'
    assert_includes page, %(<a href="../">../</a>)
    refute_includes get("/").last, "../"
    assert_includes get("/sub/", script: "/mount").last, %(<a href="/mount/sub/">sub</a>)
  end

  def test_a_folder_asked_for_without_encoding_is_shown_with_links_that_have_it
    @served.write("caf\u00e9/\u00fc.txt", "")
    page = get("/caf\u00e9/".b).last
    assert_includes page, %(<a href="/caf%C3%A9/">caf\u00e9</a>)
    assert_includes page, %(<a href="%C3%BC.txt">\u00fc.txt</a>)
    assert_equal "/caf%C3%A9/", get("/caf\u00e9".b)[1]["location"]
    assert_equal 404, get("/caf\xE9".b).first
  end

  def test_a_folder_without_its_slash_is_sent_there_and_never_to_another_server
    status, headers, = get("/sub", "sort=size")
    assert_equal [301, "/sub/?sort=size"], [status, headers["location"]]
    assert_equal "/sub/?q=%C3%A9%C3%5C%22", get("/sub", "q=\xC3\xA9%C3\\\"".b)[1]["location"]
    @served.write("evil.example/x", "")
    assert_equal 404, get("//evil.example").first
    assert_equal "/evil.example/", get("/evil.example", "\r\nSet-Cookie: a=b")[1]["location"]
  end

  def test_what_is_not_there_or_leads_out_is_404
    @served.link("outside", "..")
    @served.link("round", "round")
    %w[
      /no /no/ /b.txt/ /outside /outside/ /round/ /../ /%2e%2e/ /sub/%2e%2e/ /.hidden/ /.well-known/
      /sub%2f /sub%00/
    ].each { |path| assert_equal 404, get(path).first, path }
  end

  def test_links_that_lead_out_are_not_shown
    @served.link("outside", "..")
    @served.link("gone", "nowhere")
    @served.link("inside", "sub")
    assert_equal %w[inside sub A.txt b.txt], names
    follow = Listing.new(@served.path, symlinks: :follow)
    entries = json("/", listing: follow).fetch("entries")
    assert_equal %w[inside outside sub A.txt b.txt], (entries.map { |entry| entry["name"] })
  end

  def test_links_that_lead_out_are_told_once_each
    @served.link("outside", "..")
    @served.link("gone", "nowhere")
    names
    told = []
    log = Object.new
    log.define_singleton_method(:warn) { |line| told << line }
    @listing.refused.log = log
    2.times { names }
    assert_equal ["outside under #{@served.path} is not listed: this symbolic link leads where " \
                  "none may lead without --symlinks owner, or follow"], told
    100.times { |n| @served.link("out#{n}", "..") }
    names
    assert_equal 65, told.size
    assert_match(/\Afurther links/, told.last)
  end

  def test_pipes_and_sockets_are_not_shown_and_not_opened
    File.mkfifo(File.join(@served.path, "pipe"))
    assert_equal %w[sub A.txt b.txt], names
    status, _, text = get("/pipe")
    assert_equal [404, "this is not a file that can be sent\n"], [status, text]
  end

  def test_an_unreadable_folder_is_403_and_says_so
    place = Object.new
    place.define_singleton_method(:names) { |_| ["sub"] }
    place.define_singleton_method(:find) { |_| raise Errno::EACCES }
    @listing.instance_variable_set(:@place, place)
    status, headers, text = get("/sub/")
    assert_equal [403, "the server may not read this\n"], [status, text]
    assert_equal text.bytesize.to_s, headers["content-length"]
    answer = JSON.parse(get("/sub/", accept: "application/json").last)
    assert_equal({ "error" => "the server may not read this" }, answer)
  end

  def test_head_has_the_head_of_get_and_no_body
    _, headers, text = get("/")
    status, head, nothing = get("/", method: "HEAD")
    assert_equal [200, headers, ""], [status, head, nothing]
    assert_equal text.bytesize.to_s, headers["content-length"]
  end

  def test_other_methods_are_405
    %w[POST PUT DELETE OPTIONS PATCH].each do |method|
      status, headers, = get("/", method: method)
      assert_equal [405, "GET, HEAD"], [status, headers["allow"]]
    end
  end

  ACCEPTED = {
    nil => "text/html",
    "" => "text/html",
    "*/*" => "text/html",
    "application/json" => "application/json",
    "text/html,application/xhtml+xml,*/*;q=0.8" => "text/html",
    "application/json, text/html;q=0.9" => "application/json",
    "application/json;q=0.5, text/html" => "text/html",
    "application/json;q=0" => "text/html",
    "application/json, text/plain, */*" => "application/json",
    "APPLICATION/JSON" => "text/html",
    "application/jsonp" => "text/html",
    "application/json;q=x" => "application/json"
  }.freeze

  ACCEPTED.each do |accept, type|
    define_method("test_#{type} for who accepts #{accept.inspect}") do
      headers = get("/", accept: accept)[1]
      assert_equal type, headers["content-type"].split(";").first
      assert_equal "accept", headers["vary"]
    end
  end

  def test_a_page_runs_nothing_and_loads_nothing
    assert_equal "default-src 'none'; style-src 'unsafe-inline'",
                 get("/")[1]["content-security-policy"]
    refute_match(/<script|https?:/, get("/").last)
  end

  def test_many_entries_come_in_pages
    with_bound(:PAGE, 2) do
      first = json("/", "page=1")
      assert_equal %w[sub A.txt], (first["entries"].map { |entry| entry["name"] })
      assert_equal [1, 2, 3], first.values_at("page", "pages", "count")
      second = json("/", "page=2")
      assert_equal ["b.txt"], (second["entries"].map { |entry| entry["name"] })
      assert_equal 2, json("/", "page=7")["page"]
      footer = 'Page 1 of 2 <a rel="next" href="?sort=-name&amp;page=2">next</a>'
      assert_includes get("/", "sort=-name").last, "<footer>#{footer}</footer>"
    end
  end

  def test_a_large_folder_is_sorted_by_name_alone_and_says_so
    with_bound(:FACTS_MAX, 2) do
      page = get("/", "sort=-size").last
      assert_operator page.index("b.txt"), :<, page.index("A.txt")
      assert_includes page, "3 entries; too many to sort by size or time"
      refute_includes page, "sort=size"
    end
  end

  def test_of_a_huge_folder_only_so_many_names_are_read
    with_bound(:NAMES_MAX, 2) do
      assert_equal [2, true], json.values_at("count", "cut")
      assert_includes get("/").last, "the first 2 entries; there are more"
    end
  end

  def test_an_empty_folder
    Dir.mkdir(File.join(@served.path, "none"))
    assert_equal [[], 0, 1, 1], json("/none/").values_at("entries", "count", "page", "pages")
    assert_includes get("/none/").last, "<p>0 entries</p>"
  end
end
