# frozen_string_literal: true

# Pages of Rails, compressed: the ETag of its middleware, a strong one of a controller, and a Live
# stream.

require "net/http"
require "zlib"

require_relative "../support/server_process_case"

class RailsCompressionTest < Minitest::Test
  APP = <<~'RACKUP'
    require "action_controller/railtie"
    class CompressedApplication < Rails::Application
      config.load_defaults 7.0
      config.eager_load = true
      config.consider_all_requests_local = true
      config.secret_key_base = "x" * 64
      config.logger = Logger.new(nil)
      config.hosts.clear
      routes.append do
        get "/page" => "pages#page"
        get "/strong" => "pages#strong"
        get "/live" => "live#live"
      end
    end
    class PagesController < ActionController::Base
      PAGE = "<p>a paragraph of the page</p>\n" * 100
      def page = render(html: PAGE.html_safe)

      def strong
        render html: PAGE.html_safe if stale?(strong_etag: "version 1")
      end
    end
    class LiveController < ActionController::Base
      include ActionController::Live
      def live
        response.headers["Content-Type"] = "text/event-stream"
        3.times { |number| response.stream.write("data: #{number.to_s * 600}\n\n") }
      ensure
        response.stream.close
      end
    end
    CompressedApplication.initialize!
    run CompressedApplication
  RACKUP

  PAGE = "<p>a paragraph of the page</p>\n" * 100
  EVENTS = Array.new(3) { |number| "data: #{number.to_s * 600}\n\n" }.join

  def get(server, path, *fields)
    server.connect do |client|
      client.get(path, "Accept-Encoding: gzip", *fields)
      client.response
    end
  end

  def test_pages_are_compressed_and_known_again
    ServerProcess.run(APP, options: ["--compress"]) do |server|
      %w[/page /strong].each do |path|
        response = get(server, path)
        assert_equal "gzip", response["content-encoding"], path
        assert_equal PAGE, Zlib.gunzip(response.body)
        assert_match(%r{\AW/"}, response["etag"])
        known = get(server, path, "If-None-Match: #{response["etag"]}")
        assert_equal [304, response["etag"]], [known.status, known["etag"]], path
      end
      live = get(server, "/live")
      assert_equal "gzip", live["content-encoding"]
      assert_equal EVENTS, Zlib.gunzip(live.body)
    end
  end
end
