# frozen_string_literal: true

module NeverBlock
  module Bench
    # For claims about files: the path of the first request, and the application beside the files.
    module FileClaim
      def probe_path
        "/#{FileSet::PROBE}"
      end

      def app
        File.join(ROOT, "benchmark/apps/files.ru")
      end
    end

    # For claims about whole downloads.
    module DownloadClaim
      include FileClaim

      def measurement
        DownloadMeasurement.new
      end

      def load_generator
        "benchmark/c/downloads.c"
      end
    end
  end
end
