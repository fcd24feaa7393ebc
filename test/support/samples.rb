# frozen_string_literal: true

# The code samples of the pages: README.md, CONTRIBUTING.md and docs/. A sample is a fenced block;
# test/integration/samples_test.rb runs each. See samples/README.md.

module Samples
  ROOT = File.expand_path("../..", __dir__)
end

require_relative "samples/block"
require_relative "samples/sandbox"
require_relative "samples/live_server"
require_relative "samples/ruby_sample"
require_relative "samples/shell_sample"
require_relative "samples/data_sample"
require_relative "samples/inline"
