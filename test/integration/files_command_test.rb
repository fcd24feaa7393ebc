# frozen_string_literal: true

# `neverblock files DIR` as a process, against curl: what people do with a folder that is shared for
# an hour.

require "digest"
require "json"
require "open3"
require "rbconfig"

require_relative "../support/http_client"
require_relative "../support/served_folder"
require_relative "../support/server_process_case"

class FilesCommandProcessTest < ServerProcessCase
  LARGE = Random.new(11).bytes(2_000_000).freeze

  # The command with a folder in the place of a rackup file.
  class FolderProcess < ServerProcess
    def initialize(folder, **options)
      super("", **options)
      @folder = folder
    end

    private

    def words(_rackup)
      command = [RbConfig.ruby, "-I", File.join(ROOT, "lib"), File.join(ROOT, "exe/neverblock")]
      [*command, "files", @folder, *@binds.flat_map { |url| ["-b", Over.bind(url)] }, *@options]
    end
  end

  class << self
    def folder
      @folder ||= ServedFolder.new(
        "text.txt" => "0123456789", "large.bin" => LARGE, "docs/index.html" => "<h1>docs</h1>",
        "sub/deep/x.txt" => "x", "\u00fc & <b>.txt" => "odd", ".hidden" => "out of sight"
      ).tap { |made| made.link("outside", made.beside("secret.txt")) }
    end

    def start_server
      env = { "PORT" => "1", "WEB_CONCURRENCY" => "2" }
      FolderProcess.new(folder.path, options: ["--log-requests"], env: env).start
    end

    def run(reporter, options = {})
      super
    ensure
      @folder&.remove
    end
  end

  def curl(path, *options)
    url = self.class.server.url
    command = [*Over.curl(url), "-s", "-m", Patience::SECONDS.to_s, "--path-as-is", *options]
    out, status = Open3.capture2(*command, "#{url}#{path}", binmode: true)
    assert status.success?, "curl #{path}: #{status.exitstatus}"
    out
  end

  def status_of(path, *options)
    curl(path, "-o", File::NULL, "-w", "%{http_code}", *options)
  end

  def test_files_come_whole_in_ranges_and_not_again_when_they_have_not_changed
    assert_equal Digest::MD5.hexdigest(LARGE), Digest::MD5.hexdigest(curl("/large.bin"))
    assert_equal "345", curl("/text.txt", "-r", "3-5")
    etag = curl("/text.txt", "-D", "-", "-o", File::NULL)[/^etag: (\S+)/i, 1]
    assert_equal "304", status_of("/text.txt", "-H", "If-None-Match: #{etag}")
  end

  def test_a_download_that_was_cut_is_gone_on_with
    Dir.mktmpdir do |directory|
      path = File.join(directory, "large.bin")
      File.binwrite(path, LARGE[0, 700_000])
      curl("/large.bin", "-C", "-", "-o", path)
      assert_equal LARGE, File.binread(path)
    end
  end

  def test_every_link_of_a_listing_leads_to_what_it_says
    document = JSON.parse(curl("/", "-H", "Accept: application/json"))
    assert_equal ["docs", "sub", "large.bin", "text.txt", "\u00fc & <b>.txt"],
                 (document["entries"].map { |entry| entry["name"] })
    assert_equal "odd", curl("/#{document["entries"].last["href"]}")
    page = curl("/").force_encoding(Encoding::UTF_8)
    page.scan(/<td><a href="([^"]+)"/).flatten.each do |link|
      assert_equal "200", status_of("/#{link}"), link
    end
    assert_includes page, "\u00fc &amp; &lt;b&gt;.txt"
  end

  def test_a_folder_with_an_index_is_that_page_and_one_without_is_listed
    assert_equal "<h1>docs</h1>", curl("/docs/")
    assert_equal ["301", "301"], [status_of("/docs"), status_of("/sub")]
    assert_includes curl("/sub", "-L"), %(<a href="deep/">deep/</a>)
  end

  def test_nothing_but_the_folder_is_served
    %w[
      /../secret.txt /sub/../../secret.txt /%2e%2e/secret.txt /..%2fsecret.txt /outside /.hidden
      /sub/%00 //etc/passwd /no /%
    ].each do |path|
      assert_equal "404", status_of(path), path
    end
    assert_equal "405", status_of("/text.txt", "-X", "DELETE")
    assert_equal "0123456789", curl("/text.txt")
  end

  def test_a_refused_link_is_told_once_with_the_option_that_lets_it_lead_out
    3.times { assert_equal "404", status_of("/outside") }
    curl("/sub/?after-the-link")
    self.class.server.await_stderr(/after-the-link/)
    lines = self.class.server.stderr.lines.grep(/outside under .* is not served/)
    assert_equal 1, lines.size
    assert_includes lines.first, "none may lead without --symlinks owner, or follow"
    refute_includes lines.first, "the setting"
  end

  def test_a_link_that_a_listing_leaves_out_is_told_once
    2.times { curl("/") }
    curl("/sub/?after-the-listing")
    self.class.server.await_stderr(/after-the-listing/)
    lines = self.class.server.stderr.lines.grep(/outside under .* is not listed/)
    assert_equal 1, lines.size
  end

  def test_head
    assert_match(/^content-length: 2000000\r$/i, curl("/large.bin", "-I"))
    assert_match(%r{\AHTTP/(1\.1|2) 200}, curl("/", "-I"))
    # Of text that is not all ASCII, too (Rack CVE-2026-34831).
    ["/", "/no-\u00fc", "/sub"].each do |path|
      assert_equal curl(path, "-I")[/^content-length: (\d+)\r$/i, 1].to_i, curl(path).bytesize, path
    end
  end

  # RFC 9110 section 9.3.7: no application is asked, as there is none.
  def test_options_of_the_server_are_answered_by_it
    answer = curl("/", "-i", "-X", "OPTIONS", "--request-target", "*")
    assert_match(%r{\AHTTP/(1\.1|2) 200 }, answer)
    assert_match(/^Allow: GET, HEAD,/i, answer)
    self.class.server.await_stderr(
      /info: OPTIONS \*#{Over.logged} 200 127\.0\.0\.1 answered by the server$/
    )
  end

  def test_it_says_where_it_is_and_how_to_open_it_to_the_network
    curl("/")
    lines = self.class.server.stdout
    folder = Regexp.escape(self.class.folder.path)
    more = "; for other machines: -o 0.0.0.0" if Over.mode == :plain # no option knows https://
    serving = /Serving #{folder}; Ctrl-C stops#{more}/
    assert_match(%r{\AListening on #{Over.scheme}://127\.0\.0\.1:\d+\n#{serving}\n\z}, lines)
    refute_includes self.class.server.stderr, "\r"
    refute_includes self.class.server.stderr, "stack" # a listing is not deep
  end

  def test_an_entry_for_each_request
    curl("/sub/?logged")
    self.class.server.await_stderr(%r{info: GET /sub/\?logged#{Over.logged} 200 })
  end

  [Over.scheme, "https"].uniq.each do |scheme|
    define_method("test_every_address_of_#{scheme}_is_told_by_one_that_can_be_clicked") do
      everywhere(scheme) do |server, port|
        addresses = Socket.ip_address_list
          .select { |address| address.ipv4? && !address.ipv4_loopback? }
          .first(4)
        assert_equal addresses.map { |address| "#{scheme}://#{address.ip_address}:#{port}/" },
                     server.stdout.scan(/from other machines: (\S+)/).flatten
        text = HTTPClient.get(URI("#{scheme}://127.0.0.1:#{port}/text.txt"))
        assert_equal "0123456789", text
        refute_includes server.stdout, "-o 0.0.0.0"
      end
    end
  end

  private

  def everywhere(scheme)
    binds = ["#{scheme}://0.0.0.0:0"]
    server = FolderProcess.new(self.class.folder.path, binds: binds).start
    Patience.await("its greeting") { server.stdout.include?("Serving") }
    yield server, URI(server.url).port
  ensure
    server&.stop
  end
end
