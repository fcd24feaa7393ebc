# frozen_string_literal: true

# Beyond 30 waiting requests a thread Itsi would answer 503, which measures nothing.
ruby_thread_request_backlog_size 10_000
log_level :warn
