# POST / => 204

# frozen_string_literal: true

# SAMPLE
