# frozen_string_literal: true

# The application behind the demo's URLs. It knows nothing of fibers: it sleeps, asks other servers
# and a database, and returns. Two parts ask several things at once and say so with NB.all: the
# dashboard and the runs.

require "digest"
require "json"
require "rack/utils"
require_relative "assets"
require_relative "catalog"
require_relative "clock"
require_relative "dashboard"
require_relative "page"
require_relative "runs"
require_relative "suppliers"

module Demo
  class Application
    include Clock

    SLEEP_MAX_S = 30.0
    PUBLIC = File.expand_path("../../public", __dir__)
    # Nothing is loaded from anywhere else; the browser holds us to it.
    HTML = { "content-type" => "text/html; charset=utf-8",
             "content-security-policy" => "default-src 'self'; base-uri 'none'; " \
                                          "form-action 'none'; frame-ancestors 'none'",
             "x-content-type-options" => "nosniff" }.freeze
    JSON_TYPE = { "content-type" => "application/json", "cache-control" => "no-store" }.freeze
    TEXT = { "content-type" => "text/plain; charset=utf-8" }.freeze

    def initialize(suppliers:, catalog:, runs:)
      @suppliers = suppliers
      @catalog = catalog
      @runs = runs
      @dashboard = Dashboard.new(suppliers: suppliers, catalog: catalog)
      @assets = Assets.new(PUBLIC)
      @running = 0
    end

    # Counts the requests that are inside, for the page to show.
    def call(env)
      @running += 1
      route(env)
    rescue Suppliers::Unavailable => e
      [502, TEXT, ["#{e.message}\n"]]
    rescue Runs::Unavailable => e
      api(503, "error" => e.message)
    ensure
      @running -= 1
    end

    private

    def route(env)
      query = Rack::Utils.parse_query(env["QUERY_STRING"])
      case env["PATH_INFO"]
      when "/" then [200, HTML, [Page.home]]
      when "/slow" then slow(query)
      when "/product" then product(query)
      when "/sqlite" then json(200, "kinds" => @catalog.kinds)
      when "/sleep" then sleep_for(query)
      when "/echo" then echo(env)
      when "/download" then download
      when "/error"
        raise "this request was asked to fail; the server goes on, and its log has this trace"
      when "/api/dashboard" then api(200, @dashboard.to_h)
      when "/api/runs" then start_run(env)
      when %r{\A/api/runs/(\h{16})\z} then run(Regexp.last_match(1))
      else file(env)
      end
    end

    def file(env)
      path = env["PATH_INFO"]
      if @assets.include?(path)
        @assets.serve(path, env["HTTP_IF_NONE_MATCH"])
      else
        [404, TEXT, ["nothing here; see /\n"]]
      end
    end

    # 202: the run goes on after the answer. Another site's page may not start one.
    def start_run(env)
      unless env["REQUEST_METHOD"] == "POST"
        return [405, TEXT.merge("allow" => "POST"), ["a run is started with POST\n"]]
      end
      unless [nil, "none", "same-origin"].include?(env["HTTP_SEC_FETCH_SITE"])
        return [403, TEXT, ["only the demo's own page may start a run\n"]]
      end

      api(202, @runs.start.to_h)
    end

    def run(id)
      run = @runs.find(id)
      return api(200, run.to_h) if run

      api(404, "error" => "no such run; the demo keeps the last #{Runs::KEPT}, " \
                          "and none over a restart")
    end

    # One row of SQLite and three slow services, one after the other. The server's own clock gives
    # the begin and end of each.
    def slow(query)
      started = now
      product = find(query) or return json(404, "error" => "no such product")

      waits = {}
      parts = Suppliers::DELAYS_S.keys.to_h do |name|
        asked = now
        answer = @suppliers.ask(name, product["id"])
        waits[name] = [asked, now]
        [name, answer]
      end
      json(200, "product" => product, "parts" => parts, "running" => @running, "started" => started,
           "waits" => waits, "finished" => now)
    end

    def product(query)
      product = find(query) or return [404, TEXT, ["no such product\n"]]
      started = now
      parts = @suppliers.all(product["id"])
      [200, HTML, [Page.product(product, parts, now - started, @running)]]
    end

    def sleep_for(query)
      seconds = Float(query.fetch("seconds", "1"), exception: false)
      unless seconds&.between?(0, SLEEP_MAX_S)
        return [400, TEXT, ["seconds is a number from 0 to #{SLEEP_MAX_S.to_i}\n"]]
      end

      sleep seconds
      [200, TEXT, ["slept #{seconds} s beside #{@running - 1} other requests\n"]]
    end

    def echo(env)
      body = env["rack.input"]&.read.to_s
      json(200, "method" => env["REQUEST_METHOD"], "bytes" => body.bytesize,
           "sha256" => Digest::SHA256.hexdigest(body))
    end

    # A body with to_path: the server sends the file, no Ruby string ever holds it.
    def download
      file = File.open(@catalog.path, "rb")
      [200, { "content-type" => "application/vnd.sqlite3", "content-length" => file.size.to_s,
              "content-disposition" => 'attachment; filename="catalog.sqlite3"' }, file]
    end

    def find(query)
      @catalog.find(query.fetch("id", "7").to_i)
    end

    def json(status, value)
      [status, JSON_TYPE, [JSON.pretty_generate(value), "\n"]]
    end

    # For the page's scripts: as short as it can be.
    def api(status, value)
      [status, JSON_TYPE, [JSON.generate(value)]]
    end
  end
end
