# frozen_string_literal: true

# The live page of the admin address in headless Chromium: what it shows of requests that are held,
# also while their executor is stuck; at a desk and on a phone, in both themes. Leaves pictures in
# tmp/live-page.

require "fileutils"
require_relative "../support/axe"
require_relative "../support/browser"
require_relative "../support/fibers_case"

class LivePageCase < FibersCase
  PICTURES = File.expand_path("../../tmp/live-page", __dir__)
  PAGE = File.expand_path("../../lib/neverblock/watch/live.html", __dir__)
  SIZES = { desktop: [1280, 900], phone: [390, 844] }.freeze
  WIDTHS = "[document.documentElement.scrollWidth, innerWidth]"
  STATE = "document.body.dataset.state"
  # Texts of the rows of requests, cell by cell.
  ROWS = <<~JS
    Array.from(document.querySelectorAll("#requests tbody tr:not(.trace)"))
      .map((row) => Array.from(row.cells).map((cell) => cell.textContent))
  JS
  POOLS_HIDDEN = "['#pools', '#pools-empty'].map((one) => document.querySelector(one).hidden)"
  FAULTS = "window.faults = []; addEventListener('securitypolicyviolation', " \
           "(event) => faults.push(event.violatedDirective + ' ' + event.blockedURI)); " \
           "addEventListener('error', (event) => faults.push(event.message))"

  def setup
    super
    unless Browser.here?
      skip "no Chromium here (bin/setup --all installs Debian's where it can be had): " \
           "the page was not shown"
    end
    skip "the live page is not made (bin/live-page, which needs npm)" unless File.file?(PAGE)
    FileUtils.mkdir_p(PICTURES)
    @browser = Browser.start
  end

  def teardown
    @browser&.quit
    super
  end

  private

  # @return [Ferrum::Page] once it has shown a first reading
  def open_page(size = :desktop, theme = "light")
    width, height = SIZES.fetch(size)
    page = @browser.create_page
    page.command("Emulation.setEmulatedMedia",
                 features: [{ name: "prefers-color-scheme", value: theme }])
    page.command("Emulation.setDeviceMetricsOverride",
                 width: width, height: height, deviceScaleFactor: 1, mobile: size == :phone)
    page.command("Page.addScriptToEvaluateOnNewDocument", source: FAULTS)
    page.go_to("#{server.admin_url}/")
    Patience.await("the page shows a reading") { page.evaluate(STATE) == "running" }
    page
  end

  # @return [Array<String>] the cells of the first row for this path, once the block holds for them
  def row(page, kind, tag)
    found = nil
    Patience.await("the page shows #{kind}", -> { page.evaluate(ROWS) }) do
      found = page.evaluate(ROWS).find { |cells| cells.first == "GET /#{kind}/#{tag}" }
      found && yield(found)
    end
    found
  end

  def does(page, kind, tag, words)
    row(page, kind, tag) { |cells| cells[3].match?(words) && cells[4].match?(line_of(kind)) }
  end

  # The picture is kept for people to look at.
  def assert_fits_and_is_accessible(page, picture)
    page.screenshot(path: File.join(PICTURES, "#{picture}.png"), full: true)
    content, window = page.evaluate(WIDTHS)
    assert_operator content, :<=, window
    assert_empty Axe.violations(page)
  end

  def text(page, selector)
    page.evaluate("document.querySelector(#{selector.to_json}).textContent")
  end
end

class LivePageTest < LivePageCase
  SIZES.each_key do |size|
    %w[light dark].each do |theme|
      define_method(:"test_nothing_overflows_and_axe_finds_no_violation_#{size}_#{theme}") do
        under_way("queue") do |tag|
          page = open_page(size, theme)
          does(page, "queue", tag, /waits for a queue/)
          assert_fits_and_is_accessible(page, "#{size}-#{theme}")
          assert_empty page.evaluate("faults").grep_v(/axe/)
        end
      end
    end
  end

  def test_a_stalled_request_and_one_at_a_lock_are_found_while_the_executor_is_stuck
    fifo = make_fifo(stuck = new_tag)
    page = open_page
    under_way("holder") do |holder|
      under_way("lock", release: -> { ask("/release/#{holder}") }) do |tag|
        does(page, "lock", tag, %r{waits for a lock, which GET /holder/#{holder} holds})
        under_way("c_call", stuck, release: -> { @open = open_fifo(fifo) }) do
          does(page, "c_call", stuck, /stalls in a C call/)
          does(page, "lock", tag, %r{waits for a lock, which GET /holder/#{holder} holds})
          assert_match %r{GET /c_call/#{stuck} stalls in a C call}, text(page, "#stalls-now")
        end
      end
    end
  ensure
    @open&.close
  end

  def test_a_requests_name_opens_its_backtrace_and_closes_it_by_the_keyboard
    page = open_page
    under_way("queue") do |tag|
      does(page, "queue", tag, /waits for a queue/)
      page.execute("document.querySelector('#requests .open').focus()")
      page.keyboard.type(:enter)
      Patience.await("the backtrace is there") { trace(page).match?(/config\.ru:\d+/) }
      assert_equal "true", expanded(page)
      page.keyboard.type(:enter)
      Patience.await("it is closed") { trace(page).empty? }
      assert_equal "false", expanded(page)
    end
  end

  # The server's answer to the page is held until the row is closed again.
  def test_a_row_that_is_closed_while_its_backtrace_is_asked_for_stays_closed
    page = open_page
    under_way("queue") do |tag|
      does(page, "queue", tag, /waits for a queue/)
      page.execute(<<~JS)
        const fetched = window.fetch, gate = new Promise((open) => { window.open_gate = open; });
        window.fetch = async (path, ...more) => {
          window.asked = true;
          await gate;
          const answer = await fetched(path, ...more);
          answer.json().then((value) => {
            window.value = value;
            window.give({ json: async () => { setTimeout(() => { window.taken = true; }); return value; } });
          });
          return new Promise((give) => { window.give = give; });
        };
        document.querySelector("#requests .open").click();
      JS
      Patience.await("the page asks") { page.evaluate("window.asked") }
      page.execute("document.querySelector('#requests .open').click()")
      page.execute("window.open_gate()")
      Patience.await("the page has the answer") { page.evaluate("window.taken") }
      assert_empty trace(page)
      assert_equal "false", expanded(page)
    end
  end

  # The server's answers to the page are changed: the backtraces in them are left out.
  def test_a_request_whose_backtrace_is_not_kept_is_not_said_to_be_stuck
    page = open_page
    under_way("queue") do |tag|
      does(page, "queue", tag, /waits for a queue/)
      page.execute(<<~JS)
        const fetched = window.fetch;
        window.fetch = async (...given) => {
          const value = await (await fetched(...given)).json();
          for (const one of value.fibers || []) delete one.backtrace;
          return { json: async () => value };
        };
        document.querySelector("#requests .open").click();
      JS
      Patience.await("it is told", -> { trace(page) }) do
        trace(page).start_with?("256 backtraces are kept for each executor")
      end
    end
  end

  def test_the_filter_keeps_what_has_its_letters
    page = open_page
    under_way("queue") do |queue|
      under_way("io") do |io|
        [["queue", queue], ["io", io]].each { |kind, tag| does(page, kind, tag, /waits for/) }
        page.execute("document.querySelector('#filter').focus()")
        page.keyboard.type("/io/")
        assert_equal ["GET /io/#{io}"], page.evaluate(ROWS).map(&:first)
      end
    end
  end

  def test_without_requests_it_says_so
    page = open_page
    Patience.await("no request is there") { page.evaluate(ROWS).empty? }
    assert_equal "No request is in flight.", text(page, "#requests-empty")
    assert page.evaluate("document.querySelector('#requests').hidden")
  end

  # Programs are shown the list, whatever they take.
  def test_only_browsers_are_shown_it
    uri = URI("#{server.admin_url}/")
    assert_match(%r{^/status\.json}, HTTPClient.get(uri))
  end

  private

  def trace(page)
    page.evaluate("(document.querySelector('#requests .trace') || {}).textContent || ''")
  end

  def expanded(page)
    page.evaluate("document.querySelector('#requests .open').getAttribute('aria-expanded')")
  end
end

# With a server of its own: on another, requests of other tests are slower.
# A pool whose one place is held, and one that waits for it.
class LivePagePoolsTest < LivePageCase
  TABLE = <<~JS
    Array.from(document.querySelectorAll("#pools tbody tr"))
      .map((row) => Array.from(row.cells).map((cell) => cell.textContent))
  JS

  SIZES.each_key do |size|
    %w[light dark].each do |theme|
      define_method(:"test_pools_are_shown_with_who_waits_and_what_would_do_#{size}_#{theme}") do
        second = new_tag
        under_way("pool") do |first|
          let_both_go = -> { [first, second].each { |tag| ask("/release/#{tag}") } }
          waiting("pool", first, kind: "queue")
          under_way("pool", second, release: let_both_go) do
            assert_shown(open_page(size, theme), "pools-#{size}-#{theme}")
          end
        end
      end
    end
  end

  private

  def assert_shown(page, picture)
    Patience.await("the pool is shown", -> { page.evaluate(TABLE) }) do
      name, kind, worker, *figures, would_do = page.evaluate(TABLE).first
      [kind, worker, *figures[0, 3], would_do] == ["NB::Pool", "0", "1 of 1", "1", "2", "2"] &&
        name.match?(/\Aconfig\.ru:\d+\z/)
    end
    assert_equal [false, true], page.evaluate(POOLS_HIDDEN)
    assert_fits_and_is_accessible(page, "#{picture}")
  end
end

# A client that reads nothing of a file.
class LivePageClientsTest < LivePageCase
  TABLE = <<~JS
    Array.from(document.querySelectorAll("#clients tbody tr"))
      .map((row) => Array.from(row.cells).map((cell) => cell.textContent))
  JS
  HIDDEN = "document.querySelector('#clients').hidden"
  SENDER = Over.http2? ? "the loop, from memory" : "auto"

  def self.app
    path = File.join(directory, "large")
    File.write(path, "")
    File.truncate(path, 64 << 20)
    <<~RACKUP
      Large = Struct.new(:to_path) { def each; end }
      run ->(_) { [200, { "content-length" => "\#{64 << 20}" }, Large.new(#{path.inspect})] }
    RACKUP
  end

  def test_a_client_that_does_not_read_is_shown_while_it_is_there
    connect do |slow|
      slow.write(request("/large"))
      SIZES.each_key do |size|
        %w[light dark].each { |theme| assert_shown(size, theme) }
      end
    end
    page = open_page
    Patience.await("it is gone") { text(page, "#clients-count").start_with?("No response has") }
    assert page.evaluate(HIDDEN)
  end

  private

  def assert_shown(size, theme)
    page = open_page(size, theme)
    Patience.await("the client is shown", -> { page.evaluate(TABLE) }) do
      client, protocol, *, sender = page.evaluate(TABLE).first
      client&.match?(/\A127\.0\.0\.1:\d+\z/) && [protocol, sender] == [Over.protocol, SENDER]
    end
    assert_equal "1 client takes a second or longer for a response.", text(page, "#clients-count")
    assert_fits_and_is_accessible(page, "clients-#{size}-#{theme}")
  end
end

class LivePageNoPoolsTest < LivePageCase
  def self.app
    super.lines.grep_v(/^POOL = /).join
  end

  def test_without_pools_it_says_so
    page = open_page
    Patience.await("it is said") { page.evaluate(POOLS_HIDDEN) == [true, false] }
    assert_match(/\ANo pool is in use yet\./, text(page, "#pools-empty"))
    page.screenshot(path: File.join(PICTURES, "pools-empty.png"), full: true)
    assert_empty Axe.violations(page)
  end
end

# A helper that reads from a UNIX socket whose path ends as a row's key did.
class LivePageUnixTest < LivePageCase
  # The server tells the first 47 bytes of a path.
  def self.short_directory
    @short_directory ||= Dir.mktmpdir("nb")
  end

  def self.run(...)
    super
  ensure
    FileUtils.rm_rf(@short_directory) if @short_directory
  end

  def self.app
    <<~RACKUP
      require "socket"
      PATH = #{File.join(short_directory, "trace").inspect}
      SERVER = UNIXServer.new(PATH)
      GATE = Thread::Queue.new
      run ->(env) {
        if env["PATH_INFO"] == "/release"
          SERVER.accept.close
          GATE << :go
        else
          NB.all(-> { UNIXSocket.new(PATH).read(1) }, -> { GATE.pop })
        end
        [200, {}, ["done"]]
      }
    RACKUP
  end

  HELPERS = <<~JS
    Array.from(document.querySelectorAll("#requests tbody tr:not(.trace)"))
      .map((row) => row.textContent).filter((words) => words.includes("for GET /read"))
  JS

  def test_a_helper_that_waits_at_a_socket_called_trace_is_shown
    page = open_page
    connect do |held|
      held.write(request("/read"))
      Patience.await("the helper is shown", -> { page.evaluate("faults") }) do
        page.evaluate(HELPERS).any? { |words| words.include?("/trace") }
      end
      page.execute(<<~JS)
        Array.from(document.querySelectorAll("#requests .open"))
          .find((one) => one.closest("tr").textContent.includes("/trace")).click()
      JS
      Patience.await("its backtrace is there") { text(page, "#requests").include?("config.ru:") }
      ask("/release")
      assert_equal "done", held.response.body
    end
    assert_empty page.evaluate("faults")
  end
end

class LivePageSlowestTest < LivePageCase
  def test_the_slowest_requests_open_their_waits
    page = open_page
    under_way("queue", tag = new_tag) { waiting("queue", tag, kind: "queue") }
    Patience.await("it is among the slowest") { slowest(page).include?("GET /queue/#{tag}") }
    page.execute("Array.from(document.querySelectorAll('#slowest .open')).find((one) => " \
                 "one.textContent.includes('#{tag}')).click()")
    assert_match(/queue.*config\.ru|queue/, text(page, "#slowest .waterfall"))
    assert_empty Axe.violations(page)
  end

  private

  def slowest(page)
    page.evaluate("document.querySelector('#slowest').textContent")
  end
end

# With the token.
class LivePageActionsTest < LivePageCase
  TOKEN = "0123456789abcdef-page"
  CANCEL = "(document.querySelector('#requests .act button') || {}).textContent || ''"

  def self.server_options
    given = super
    { **given, env: { "NEVERBLOCK_ADMIN_TOKEN" => TOKEN } }
  end

  def test_a_request_is_cancelled_once_the_page_has_the_token
    page = open_page
    connect do |held|
      held.write(request("/queue/#{tag = new_tag}"))
      does(page, "queue", tag, /waits for a queue/)
      assert_empty page.evaluate(CANCEL)
      unlock(page, TOKEN)
      Patience.await("it can be cancelled") { page.evaluate(CANCEL) == "Cancel" }
      page.execute("document.querySelector('#requests .act button').click()")
      assert_equal 503, held.response.status
      Patience.await("it is gone") { page.evaluate(ROWS).empty? }
    end
  end

  def test_a_wrong_token_is_refused_and_forgotten
    page = open_page
    under_way("queue") do |tag|
      does(page, "queue", tag, /waits for a queue/)
      unlock(page, "wrong")
      Patience.await("it can be tried") { page.evaluate(CANCEL) == "Cancel" }
      page.execute("document.querySelector('#requests .act button').click()")
      Patience.await("it is refused") do
        text(page, "#banner").include?("this is not the server's admin_token")
      end
      Patience.await("it is forgotten") { page.evaluate(CANCEL).empty? }
    end
  end

  def test_an_errors_words_go_with_the_next_action
    page = open_page
    connect do |held|
      held.write(request("/queue/#{tag = new_tag}"))
      does(page, "queue", tag, /waits for a queue/)
      cancel(page, "wrong")
      Patience.await("it is refused") { text(page, "#banner").include?("admin_token") }
      Patience.await("the token is forgotten") { page.evaluate(CANCEL).empty? }
      cancel(page, TOKEN)
      assert_equal 503, held.response.status
    end
    assert_empty text(page, "#banner")
    assert page.evaluate("document.querySelector('#banner').hidden")
  end

  private

  def cancel(page, token)
    unlock(page, token)
    Patience.await("it can be tried") { page.evaluate(CANCEL) == "Cancel" }
    page.execute("document.querySelector('#requests .act button').click()")
  end

  # By the keyboard.
  def unlock(page, token)
    Patience.await("the page offers it") do
      page.evaluate("!document.querySelector('#unlock').hidden")
    end
    page.execute("document.querySelector('#unlock').focus()")
    page.keyboard.type(:enter)
    Patience.await("the token is asked for") do
      page.evaluate("document.activeElement.id") == "token"
    end
    page.keyboard.type(token)
    page.keyboard.type(:tab, :tab, :enter)
  end
end

# A server that ends.
class LivePageAdviceTest < LivePageCase
  TITLES = "Array.from(document.querySelectorAll('#advice h3')).map((one) => one.textContent)"

  def self.app
    <<~RACKUP
      class Shop
        def page
          user = find(:user)
          rates = find(:rates)
          [user, rates]
        end

        def find(what)
          sleep(0.02)
          what
        end
      end
      run ->(_env) { [200, {}, [Shop.new.page.inspect]] }
    RACKUP
  end

  def test_what_need_not_have_been_waited_for_is_told_with_its_lines
    HTTPClient.get(URI("#{server.url}/page"))
    SIZES.each_key do |size|
      %w[light dark].each { |theme| assert_told(size, theme) }
    end
  end

  private

  def assert_told(size, theme)
    page = open_page(size, theme)
    Patience.await("the page shows advice") { page.evaluate(TITLES).any? }
    assert_equal ["2 waits in Shop#page came one after another, and none used another's result"],
                 page.evaluate(TITLES)
    assert_match(/user = find\(:user\).*rates = find\(:rates\)/m, text(page, "#advice"))
    assert_empty Axe.violations(page)
    wide, room = page.evaluate(WIDTHS)
    assert_operator wide, :<=, room
    page.screenshot(path: File.join(PICTURES, "advice-#{size}-#{theme}.png"), full: true)
  end
end

class LivePageLostTest < LivePageCase
  def test_a_server_that_ends_is_told
    page = open_page
    server.stop
    Patience.await("the page says so") { page.evaluate(STATE) == "lost" }
    assert_match(/The server has not answered for/, text(page, "#banner"))
    refute page.evaluate("document.querySelector('#banner').hidden")
  end
end
