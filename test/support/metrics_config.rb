# frozen_string_literal: true

# What some metrics are there for only when it is asked for.
on_download { |_report| nil }
compress true
