# frozen_string_literal: true

require "ferrum"
require_relative "patience"

# Headless Chromium for tests of pages.
module Browser
  CHROMIUM = ENV.fetch("PATH", "").split(":")
    .product(%w[chromium chromium-browser google-chrome])
    .map { |parts| File.join(*parts) }
    .find { |path| File.executable?(path) }

  # As root Chromium needs to be without its sandbox; it sees our own pages only.
  OPTIONS = { "no-sandbox" => nil, "disable-gpu" => nil, "disable-dev-shm-usage" => nil }.freeze
  UNTRUSTED = { "ignore-certificate-errors" => nil }.freeze

  module_function

  # @return [Boolean] whether it is on this machine
  def here? = !CHROMIUM.nil?

  # @param wait_s [Numeric] the longest wait for the program and for a page
  # @param untrusted [Boolean] whether certificates are taken that nobody trusts
  # @return [Ferrum::Browser] the caller quits it
  def start(wait_s: Patience::SECONDS, untrusted: false)
    options = untrusted ? OPTIONS.merge(UNTRUSTED) : OPTIONS
    Ferrum::Browser.new(browser_path: CHROMIUM, headless: "new", timeout: wait_s,
                        process_timeout: wait_s, browser_options: options)
  end
end
