# frozen_string_literal: true

# Media types by file extension: Rack's table, which applications know, with additions. The
# additions are types registered since (IANA, "Media Types", 2026; unregistered ones begin with
# "x-"), and types that Rack 3 has and Rack 2.2 lacks or has wrong. No type has a charset: a page
# declares its own.

module NeverBlock
  class Server
    module MediaTypes
      SINCE = {
        ".7z" => "application/x-7z-compressed",
        ".aac" => "audio/aac",
        ".apk" => "application/vnd.android.package-archive",
        ".apng" => "image/apng",
        ".avif" => "image/avif",
        ".br" => "application/x-brotli",
        ".cjs" => "text/javascript",
        ".crx" => "application/x-chrome-extension",
        ".css" => "text/css",
        ".cur" => "image/vnd.microsoft.icon",
        ".dng" => "image/x-adobe-dng",
        ".epub" => "application/epub+zip",
        ".flac" => "audio/flac",
        ".flif" => "image/flif",
        ".geojson" => "application/geo+json",
        ".glb" => "model/gltf-binary",
        ".gltf" => "model/gltf+json",
        ".gpx" => "application/gpx+xml",
        ".gz" => "application/gzip",
        ".heic" => "image/heic",
        ".heics" => "image/heic-sequence",
        ".heif" => "image/heif",
        ".heifs" => "image/heif-sequence",
        ".html" => "text/html",
        ".ico" => "image/vnd.microsoft.icon",
        ".importmap" => "application/importmap+json",
        ".ipynb" => "application/x-ipynb+json",
        ".jpg" => "image/jpeg",
        ".js" => "text/javascript",
        ".json" => "application/json",
        ".jsonl" => "application/jsonl",
        ".jsonld" => "application/ld+json",
        ".jxl" => "image/jxl",
        ".m3u8" => "application/vnd.apple.mpegurl",
        ".m4a" => "audio/mp4",
        ".m4s" => "video/iso.segment",
        ".map" => "application/json",
        ".markdown" => "text/markdown",
        ".md" => "text/markdown",
        ".mjs" => "text/javascript",
        ".mka" => "audio/x-matroska",
        ".mkv" => "video/x-matroska",
        ".mobi" => "application/x-mobipocket-ebook",
        ".mtl" => "model/mtl",
        ".ndjson" => "application/x-ndjson",
        ".obj" => "model/obj",
        ".opus" => "audio/ogg",
        ".otf" => "font/otf",
        ".parquet" => "application/vnd.apache.parquet",
        ".pdf" => "application/pdf",
        ".pkpass" => "application/vnd.apple.pkpass",
        ".png" => "image/png",
        ".rar" => "application/vnd.rar",
        ".sqlite3" => "application/vnd.sqlite3",
        ".srt" => "application/x-subrip",
        ".stl" => "model/stl",
        ".svg" => "image/svg+xml",
        ".tgz" => "application/gzip",
        ".toml" => "application/toml",
        ".ttc" => "font/collection",
        ".ttf" => "font/ttf",
        ".txt" => "text/plain",
        ".usdz" => "model/vnd.usdz+zip",
        ".vcf" => "text/vcard",
        ".wasm" => "application/wasm",
        ".weba" => "audio/webm",
        ".webmanifest" => "application/manifest+json",
        ".webp" => "image/webp",
        ".wgsl" => "text/wgsl",
        ".woff" => "font/woff",
        ".woff2" => "font/woff2",
        ".xpi" => "application/x-xpinstall",
        ".xz" => "application/x-xz",
        ".zst" => "application/zstd"
      }.freeze

      module_function

      # @return [Hash{String => String}] extension with its dot => media type
      def table
        require "rack/mime"
        ::Rack::Mime::MIME_TYPES.merge(SINCE)
      rescue LoadError # a front without the application's gems
        SINCE
      end
    end
  end
end
