# frozen_string_literal: true

# The demo's two HTML pages.

require "erb"
require_relative "runs"
require_relative "suppliers"

module Demo
  module Page
    FOLDER = File.expand_path("../../pages", __dir__)
    HOME = ERB.new(File.read(File.join(FOLDER, "home.html.erb")), trim_mode: "-")
    PRODUCT = ERB.new(File.read(File.join(FOLDER, "product.html.erb")), trim_mode: "-")

    module_function

    def home
      HOME.result_with_hash(delays: Suppliers::DELAYS_S, requests: Runs::REQUESTS,
                            version: NeverBlock::VERSION)
    end

    def product(product, parts, seconds, running)
      PRODUCT.result_with_hash(product: product, parts: parts, seconds: seconds, running: running,
                               h: ERB::Util.method(:html_escape))
    end
  end
end
