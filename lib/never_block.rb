# frozen_string_literal: true

# The name under which NeverBlock 0.1 was required.

require "neverblock"
