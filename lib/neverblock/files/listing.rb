# frozen_string_literal: true

# The Rack application behind `neverblock files`. It gets requests for which the file server finds
# no file. A folder is listed as a page, or as JSON if Accept prefers it. Other requests get a short
# error text.

require "cgi/escape"
require "json"
require "neverblock/files/folder"
require "neverblock/files/page"
require "neverblock/files/place"
require "neverblock/files/refused_links"

module NeverBlock
  module Files
    class Listing
      JSON_TYPE = "application/json"
      HTML_TYPE = "text/html; charset=utf-8"
      TEXT_TYPE = "text/plain; charset=utf-8"
      # Pages run no script and load nothing, whatever names they show.
      GUARD = {
        "content-security-policy" => "default-src 'none'; style-src 'unsafe-inline'",
        "x-content-type-options" => "nosniff"
      }.freeze
      METHODS = %w[GET HEAD].freeze
      # Bytes that clients send in a query and that a URL cannot have (RFC 3986 section 3.4).
      ODD = /[\x80-\xff"<>\\]/n.freeze
      # A page number.
      PAGE = /\A\d{1,9}\z/.freeze

      # @return [RefusedLinks] the links that lead out of the folder
      attr_reader :refused

      # @param root [String] path of the served folder
      # @param symlinks [Symbol] as the setting
      # @raise [SystemCallError]
      def initialize(root, symlinks: :inside)
        @place = Place.new(root, symlinks)
        @refused = RefusedLinks.new(root, symlinks)
      end

      # Parks the fiber while the disk is read.
      # @return [Array] a Rack response
      def call(env)
        unless METHODS.include?(env["REQUEST_METHOD"])
          return finish(env, 405, refusal(env, "only GET and HEAD are allowed here"),
                        "allow" => "GET, HEAD")
        end

        names = @place.names(env["PATH_INFO"].to_s) or return nothing(env)
        NeverBlock.offload { look(env, names) }
      end

      private

      def look(env, names)
        path = @place.find(names) or return nothing(env)
        return not_sendable(env) unless File.directory?(path)
        return to_folder(env, names) unless env["PATH_INFO"].end_with?("/")

        finish(env, 200, listing(env, path, names), "cache-control" => "no-cache")
      rescue Errno::EACCES, Errno::EPERM
        finish(env, 403, refusal(env, "the server may not read this"))
      rescue Errno::EMFILE, Errno::ENFILE
        finish(env, 503, refusal(env, "too many files are open, try again"), "retry-after" => "1")
      rescue Errno::ENOENT, Errno::ENOTDIR, Errno::ELOOP, Errno::ENAMETOOLONG
        nothing(env)
      end

      # @return [Array(String, String)] content type and body
      def listing(env, path, names)
        query = query_of(env)
        page = query.fetch("page", "1")[PAGE].to_i
        folder = Folder.new(path, @place, names, order: query.fetch("sort", "name"), page: page,
                                                refused: @refused)
        json?(env) ? json(names, folder) : [HTML_TYPE, Page.new(names, folder, top(env)).to_s]
      end

      def not_sendable(env)
        finish(env, 404, refusal(env, "this is not a file that can be sent"))
      end

      def nothing(env)
        finish(env, 404, refusal(env, "there is no file or folder of this name"))
      end

      # The target is made of decoded names: the client's own text might be "//host", another
      # server.
      def to_folder(env, names)
        query = env["QUERY_STRING"].to_s.b.gsub(ODD) { |byte| format("%%%02X", byte.ord) }
        target = "#{top(env)}#{names.map { |name| "#{Place.encode(name)}/" }.join}"
        target = "#{target}?#{query}" if query.match?(/\A[!-~]+\z/)
        finish(env, 301, [TEXT_TYPE, "It is at #{target}\n"], "location" => target)
      end

      def top(env)
        "#{env["SCRIPT_NAME"].to_s.chomp("/")}/"
      end

      def query_of(env)
        env["QUERY_STRING"].to_s.split("&").to_h { |pair| pair.partition("=").values_at(0, 2) }
      end

      # @return [Array(String, String)] content type and body
      def json(names, folder)
        path = "/#{names.map { |name| "#{name.dup.force_encoding(Encoding::UTF_8)}/" }.join}"
        document = { path: path, entries: folder.entries.map { |entry| json_entry(entry) },
                     count: folder.count, page: folder.page, pages: folder.pages,
                     cut: folder.truncated? || false }
        [JSON_TYPE, "#{JSON.generate(document)}\n"]
      end

      def json_entry(entry)
        { name: entry.text, type: entry.folder ? "folder" : "file", size: entry.size,
          modified: entry.modified&.getutc&.strftime("%FT%TZ"), href: entry.href }
      end

      def refusal(env, words)
        json?(env) ? [JSON_TYPE, "#{JSON.generate(error: words)}\n"] : [TEXT_TYPE, "#{words}\n"]
      end

      # Whether Accept prefers JSON to HTML. A client that accepts anything gets the page.
      def json?(env)
        accept = env["HTTP_ACCEPT"].to_s
        accept.include?(JSON_TYPE) && weight(accept, JSON_TYPE) > weight(accept, "text/html")
      end

      # The weight of a media type in an Accept field (RFC 9110 section 12.4.2).
      def weight(accept, type)
        parts = accept.split(",").map(&:strip)
        part = parts.find { |one| one.split(";").first.to_s.strip.casecmp?(type) } or return 0.0
        (part[/;\s*q=([01](?:\.\d{1,3})?)\s*\z/i, 1] || 1).to_f
      end

      def finish(env, status, answer, more = {})
        type, body = answer
        headers = { "content-type" => type, "content-length" => body.bytesize.to_s,
                    "vary" => "accept", **GUARD, **more }
        [status, headers, env["REQUEST_METHOD"] == "HEAD" ? [] : [body]]
      end
    end
  end
end
