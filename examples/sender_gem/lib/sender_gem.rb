# frozen_string_literal: true

# Adds the algorithm "ramp" to NeverBlock. In config/neverblock.rb:
#
#   require "sender_gem"
#   sendfile { algorithm :ramp }

require "neverblock/algorithms"
require "sender_gem/sender_gem"

NeverBlock.add_algorithm(SenderGem::ADDRESS)
