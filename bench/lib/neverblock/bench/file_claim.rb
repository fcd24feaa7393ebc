# frozen_string_literal: true

module NeverBlock
  module Bench
    # Of claims about files: what is asked to see that a server serves, and the application beside the files.
    module FileClaim
      def probe_path
        "/#{FileSet::PROBE}"
      end

      def app
        File.join(ROOT, "benchmark/apps/files.ru")
      end
    end

    # The same where whole downloads are looked at.
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
