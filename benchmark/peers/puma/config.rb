# frozen_string_literal: true

# Puma closes a connection after 999 requests by default. nginx and NeverBlock are measured without
# such a limit, so Puma is too.
max_keep_alive Float::INFINITY
