# frozen_string_literal: true

# The application behind the demo's URLs. Nothing here knows of fibers: it sleeps, asks other servers and a database, and returns.

require "digest"
require "json"
require "rack/utils"
require_relative "catalog"
require_relative "page"
require_relative "suppliers"

module Demo
  class Application
    SLEEP_MAX_S = 30.0
    HTML = { "content-type" => "text/html; charset=utf-8" }.freeze
    TEXT = { "content-type" => "text/plain; charset=utf-8" }.freeze

    def initialize(suppliers:, catalog:)
      @suppliers = suppliers
      @catalog = catalog
      @running = 0
    end

    # Counts the requests that are inside, for the page to show.
    def call(env)
      @running += 1
      route(env)
    rescue Suppliers::Unavailable => e
      [502, TEXT, ["#{e.message}\n"]]
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
      when "/error" then raise "this request was asked to fail; the server goes on, and its log has this trace"
      else [404, TEXT, ["nothing here; see /\n"]]
      end
    end

    # One row of SQLite and three slow services, one after the other; the server's own clock says from when to when.
    def slow(query)
      started = now
      product = find(query) or return json(404, "error" => "no such product")

      parts = @suppliers.all(product["id"])
      json(200, "product" => product, "parts" => parts, "running" => @running, "started" => started, "finished" => now)
    end

    def product(query)
      product = find(query) or return [404, TEXT, ["no such product\n"]]
      started = now
      parts = @suppliers.all(product["id"])
      [200, HTML, [Page.product(product, parts, now - started, @running)]]
    end

    def sleep_for(query)
      seconds = Float(query.fetch("seconds", "1"), exception: false)
      return [400, TEXT, ["seconds is a number from 0 to #{SLEEP_MAX_S.to_i}\n"]] unless seconds&.between?(0, SLEEP_MAX_S)

      sleep seconds
      [200, TEXT, ["slept #{seconds} s beside #{@running - 1} other requests\n"]]
    end

    def echo(env)
      body = env["rack.input"]&.read.to_s
      json(200, "method" => env["REQUEST_METHOD"], "bytes" => body.bytesize, "sha256" => Digest::SHA256.hexdigest(body))
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
      [status, { "content-type" => "application/json" }, [JSON.pretty_generate(value), "\n"]]
    end

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
