# frozen_string_literal: true

require "fileutils"
require_relative "patience"

# axe-core, from npm, for pages in Browser. Installed once, into tmp/npm.
module Axe
  VERSION = "4.10.2"
  FOLDER = File.expand_path("../../tmp/npm", __dir__)
  FILE = File.join(FOLDER, "node_modules/axe-core/axe.min.js")
  INSTALL = ["npm", "install", "--no-audit", "--no-fund", "--no-save", "--silent",
             "--prefix", FOLDER, "axe-core@#{VERSION}"].freeze
  RUN = <<~JS
    axe.run(document).then((found) => arguments[0](found.violations.map(
      (one) => `${one.id}: ${one.nodes.map((node) => node.html).slice(0, 3).join(" ")}`)))
  JS

  module_function

  # @return [Boolean] whether it is installed, or can be
  def here?
    File.exist?(FILE) || system("npm", "--version", out: File::NULL, err: File::NULL) == true
  end

  # @param page [Ferrum::Page]
  # @return [Array<String>] each broken rule with the first elements that break it
  def violations(page)
    page.command("Runtime.evaluate", expression: source)
    page.evaluate_async(RUN, Patience::SECONDS)
  end

  # @return [String]
  # @raise [RuntimeError] when npm cannot install it
  def source
    install unless File.exist?(FILE)
    File.read(FILE)
  end

  def install
    FileUtils.mkdir_p(FOLDER)
    return if system(*INSTALL)

    raise "npm cannot install axe-core #{VERSION} into #{FOLDER}"
  end
end
