# frozen_string_literal: true

# A stand-in for OpenTelemetry's context, whose gems test/gems/traces_test.rb runs.

module OpenTelemetry
  module Context
    def self.current = Thread.current[:context]

    def self.with_current(context)
      Thread.current[:context] = context
      yield
    end
  end
end

SEEN = Thread::Queue.new
def work = SEEN << OpenTelemetry::Context.current
Thread.current[:context] = :ours

# SAMPLE
abort("the thread has another context") unless SEEN.pop == :ours
