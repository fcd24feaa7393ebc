# frozen_string_literal: true

# The site of bin/docs: built, its links followed, and looked at in Chromium at two widths.

require "minitest/autorun"
require "fileutils"
require "open3"
require "tmpdir"
require "set"
require_relative "../support/browser"
require_relative "../support/site_pages"

class SiteTest < Minitest::Test
  ROOT = File.expand_path("../..", __dir__)
  SITE = File.join(ROOT, "tmp/site")
  GEMS = File.join(ROOT, "tmp/docs-gems")
  # Kept, so that somebody can look at them.
  PICTURES = File.join(ROOT, "tmp/site-pictures")
  WIDTHS = { "desk" => 1280, "phone" => 390 }.freeze
  LOOKED_AT = %w[index guides/verbs guides/sizing guides/configuration guides/limits api/NeverBlock
                 HOOKS].freeze

  def setup
    skip "needs the site's gems: bin/docs --setup" unless File.exist?("#{GEMS}/Gemfile.lock")
    SiteTest.build
  end

  # Once for all tests of this process.
  def self.build
    @built ||= begin
      output, status = Open3.capture2e(File.join(ROOT, "bin/docs"))
      raise "bin/docs: #{output}" unless status.success?

      true
    end
  end

  # One for all tests: it takes long to start.
  def self.browser
    @browser ||= Browser.start.tap { |started| Minitest.after_run { started.quit } }
  end

  # bin/docs fails where a public name has no sentence; this is that it sees one.
  def test_what_is_not_documented_is_named
    Dir.mktmpdir do |folder|
      FileUtils.mkdir_p([File.join(folder, "sig"), File.join(folder, "lib")])
      File.write(File.join(folder, "sig/a.rbs"), SIGNATURES)
      File.write(File.join(folder, "lib/a.rb"), DEFINITIONS)
      assert_equal "A::B A#d", undocumented(folder)
    end
  end

  SIGNATURES = <<~RBS
    # Said.
    class A
      B: Integer
      def c: () -> void
      def d: () -> void
    end
  RBS
  DEFINITIONS = <<~RUBY
    class A
      # Said.
      def c = nil
      def d = nil
    end
  RUBY

  def test_no_link_is_dead
    pages = SitePages.new(SITE)
    assert_operator pages.all.size, :>, 100
    assert_empty pages.broken.map(&:to_s)
  end

  def test_a_dead_link_and_a_dead_anchor_are_found
    Dir.mktmpdir do |folder|
      File.write(File.join(folder, "a.html"),
                 '<p id="x"><a href="b.html"></a><a href="#y"></a><a href="a.html#x"></a>')
      assert_equal ["a.html: b.html", "a.html: #y"], SitePages.new(folder).broken.map(&:to_s)
    end
  end

  def test_no_anchor_is_there_twice
    pages = SitePages.new(SITE)
    assert_empty(pages.all.to_h { |page|
      [page, pages.repeated(page)]
    }.reject { |_, ids| ids.empty? })
  end

  def test_nothing_is_wider_than_the_window
    browse do |browser|
      WIDTHS.each do |name, width|
        browser.resize(width: width, height: 900)
        SitePages.new(SITE).all.grep_v(%r{\Asource/}).each do |page|
          browser.go_to("file://#{SITE}/#{page}")
          picture(browser, "#{page}-#{name}") if LOOKED_AT.include?(page.delete_suffix(".html"))
          assert_equal width, browser.evaluate("document.documentElement.scrollWidth"),
                       "#{page} at #{width}"
        end
      end
    end
  end

  def test_dark_and_light
    browse do |browser|
      colors = %w[dark light].map do |scheme|
        feature = { name: "prefers-color-scheme", value: scheme }
        browser.page.command("Emulation.setEmulatedMedia", features: [feature])
        browser.go_to("file://#{SITE}/guides/verbs.html")
        picture(browser, "verbs-#{scheme}")
        style_of(browser, "body", "backgroundColor")
      end
      assert_equal 2, colors.uniq.size
    end
  end

  def test_search_finds_a_setting_and_a_method
    browse do |browser|
      browser.resize(width: 1280, height: 900)
      browser.go_to("file://#{SITE}/guides/verbs.html")
      { "stall_ms" => "stalls", "FiberPool" => "",
"letsencrypt certificates" => "tls" }.each do |words, page|
        type(browser, words)
        found = Patience.await("an answer for #{words}") { answers(browser, words) }
        assert(found.any? { |link| link.include?(page) }, "#{words}: #{found}")
      end
    end
  end

  def test_the_menu_opens_on_a_phone
    browse do |browser|
      browser.resize(width: 390, height: 800)
      browser.go_to("file://#{SITE}/guides/tls.html")
      assert_equal "none", style_of(browser, "#tasks", "display")
      browser.at_css("#menu").click
      assert_equal "block", style_of(browser, "#tasks", "display")
    end
  end

  def test_the_calculator_says_what_the_formula_says
    browse do |browser|
      browser.go_to("file://#{SITE}/guides/sizing.html")
      said = browser.at_css("#calculator output").text
      expected = browser.evaluate("sizing(Object.fromEntries([...document.forms[1].elements]" \
                                  ".map((field) => [field.name, Number(field.value)])))")
      assert_match(/^workers #{expected["workers"]}\nfibers #{expected["fibers"]}\n/, said)
      assert_includes said, "memory: #{expected["memory_mb"]} MB"
    end
  end

  private

  def browse
    skip "needs Chromium" unless Browser.here?
    yield SiteTest.browser
  end

  def picture(browser, name)
    FileUtils.mkdir_p(PICTURES)
    browser.screenshot(path: File.join(PICTURES, "#{name.tr("/", "-")}.png"))
  end

  # Of a project's folder, by the site's own gems.
  def undocumented(folder)
    env = { "BUNDLE_GEMFILE" => "#{GEMS}/Gemfile", "BUNDLE_PATH" => GEMS, "RUBYOPT" => nil,
            "RUBYLIB" => nil, "BUNDLE_LOCKFILE" => nil }
    code = "require #{File.join(ROOT, "site/lib/api").inspect}; " \
           "print Api.new(#{folder.inspect}).undocumented.join(' ')"
    Open3.capture2(env, "bundle", "exec", "ruby", "-e", code).first
  end

  def type(browser, words)
    browser.evaluate("document.getElementById('search').value = #{words.inspect}")
    browser.evaluate("document.getElementById('search').dispatchEvent(new Event('input'))")
  end

  # The links of what was found, once they are there.
  def answers(browser, words)
    shown = browser.evaluate("document.getElementById('found').dataset.words")
    shown == words && browser.css("#found a").map { |link| link.attribute("href") }
  end

  def style_of(browser, selector, name)
    browser.evaluate("getComputedStyle(document.querySelector(#{selector.inspect})).#{name}")
  end
end
