# frozen_string_literal: true

# The page of `neverblock bench` in headless Chromium, at a desk and on a phone, in both themes.
# Leaves pictures in tmp/bench-page.

require "fileutils"
require_relative "../support/axe"
require_relative "../support/browser"
require_relative "../unit/bench/page_case"

class BenchPageBrowserTest < PageCase
  PICTURES = File.expand_path("../../tmp/bench-page", __dir__)
  SIZES = { desktop: [1280, 900, false], phone: [390, 844, true] }.freeze
  WIDTHS = "[document.documentElement.scrollWidth, innerWidth]"
  # Rows whose parts leave their cell or lie over each other.
  BAD_ROWS = <<~JS
    Array.from(document.querySelectorAll(".bars tbody tr")).filter((row) => {
      const parts = Array.from(row.cells).map((cell) => cell.getBoundingClientRect());
      return parts.some((part, i) => i > 0 && part.left < parts[i - 1].right - 1) ||
        Array.from(row.cells).some((cell) => cell.scrollWidth > cell.clientWidth + 1);
    }).map((row) => row.textContent)
  JS
  FOCUSED = "[document.activeElement.tagName, document.activeElement.textContent.trim()]"

  def setup
    unless Browser.here?
      skip "no Chromium here (bin/setup --all installs Debian's where it can be had): " \
           "the page was not shown"
    end
    FileUtils.mkdir_p(PICTURES)
    @file = File.join(Dir.mktmpdir, "report.html")
    old = reports.each { |one| one["figures"].each { |row| lower(row) if row["rounds"] > 1 } }
    File.write(@file, Page.new(collection(reports, planned: %w[hello clients mysql],
                                                   old: old)).to_html)
    @browser = Browser.start
  end

  def teardown
    @browser&.quit
    FileUtils.remove_entry(File.dirname(@file)) if @file
  end

  SIZES.each_key do |size|
    %w[light dark].each do |theme|
      define_method(:"test_nothing_overflows_and_axe_finds_no_violation_#{size}_#{theme}") do
        page = show(size, theme)
        page.screenshot(path: File.join(PICTURES, "#{size}-#{theme}.png"), full: true)
        assert_fits(page)
        page.execute("document.querySelectorAll('details').forEach((one) => one.open = true)")
        assert_fits(page)
        skip "no npm here, which brings axe-core: what else is asked holds" unless Axe.here?
        assert_empty Axe.violations(page)
      end
    end
  end

  def test_the_keyboard_reaches_the_tables_and_opens_them
    page = show(:desktop, "light")
    page.keyboard.type(:tab)
    assert_equal ["A", "Skip to the figures"], page.evaluate(FOCUSED)
    page.keyboard.type(:tab)
    assert_equal ["A", "Hello world"], page.evaluate(FOCUSED)
    page.execute("document.querySelector('summary').focus()")
    page.keyboard.type(:enter)
    assert page.evaluate("document.querySelector('details').open")
    page.keyboard.type(:tab)
    assert_equal "region", page.evaluate("document.activeElement.getAttribute('role')")
  end

  def test_the_styles_are_allowed_by_the_policy
    page = show(:desktop, "light")
    width = page.evaluate("document.querySelector('rect.own').getBoundingClientRect().width")
    assert_operator width, :>, 0
    assert_equal "grid", page.evaluate("getComputedStyle(document.querySelector('.plot')).display")
  end

  private

  def lower(row)
    %w[median low high].each { |key| row[key] = row[key] / 10.0 }
  end

  def show(size, theme)
    width, height, mobile = SIZES.fetch(size)
    page = @browser.create_page
    page.command("Emulation.setDeviceMetricsOverride", width: width, height: height,
                                                       deviceScaleFactor: 1, mobile: mobile)
    page.command("Emulation.setEmulatedMedia",
                 features: [{ name: "prefers-color-scheme", value: theme }])
    page.go_to("file://#{@file}")
    page
  end

  def assert_fits(page)
    content, window = page.evaluate(WIDTHS)
    assert_equal window, content, "the page is wider than its window"
    assert_empty page.evaluate(BAD_ROWS)
  end
end
