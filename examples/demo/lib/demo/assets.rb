# frozen_string_literal: true

# The files under public/: style, scripts, the chart library. All names are known before the first
# request, and a request has to give one exactly. So no path from outside reaches the file system.

module Demo
  class Assets
    # Only what is in public/; another ending is a mistake of ours.
    TYPES = {
      ".css" => "text/css; charset=utf-8",
      ".js" => "text/javascript; charset=utf-8",
      ".svg" => "image/svg+xml",
      ".md" => "text/plain; charset=utf-8",
      "" => "text/plain; charset=utf-8"
    }.freeze

    # @param folder [String]
    # @param prefix [String] of their URLs, without the last slash
    def initialize(folder, prefix: "/assets")
      @files = Dir.glob("**/*", base: folder).select { |name| File.file?(File.join(folder, name)) }
                  .to_h { |name|
                    ["#{prefix}/#{name}",
                     [File.join(folder, name), TYPES.fetch(File.extname(name))]]
                  }
                  .freeze
    end

    # @return [Boolean]
    def include?(path)
      @files.key?(path)
    end

    # A body with to_path: the server sends the file, no Ruby string ever holds it.
    # @param path [String] one that is included
    # @param seen [String, nil] the tag of the copy the client has (If-None-Match)
    # @return [Array] a Rack response
    def serve(path, seen = nil)
      name, type = @files.fetch(path)
      file = File.open(name, "rb")
      headers = headers(file.stat, type)
      unless seen == headers["etag"]
        return [200, headers.merge("content-length" => file.size.to_s), file]
      end

      file.close
      [304, headers.except("content-type"), []]
    end

    private

    # "no-cache" is: keep it, and ask each time whether it is still the same.
    def headers(stat, type)
      tag = format('"%x-%x"', stat.size, (stat.mtime.to_r * 1_000_000).to_i)
      { "content-type" => type, "etag" => tag, "cache-control" => "no-cache",
        "x-content-type-options" => "nosniff" }
    end
  end
end
