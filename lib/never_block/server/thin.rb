# frozen_string_literal: true

# The old way in: `require "never_block/server/thin"` in a Rails environment file. The server is
# NeverBlock's own now.

require "neverblock/rack/default"
