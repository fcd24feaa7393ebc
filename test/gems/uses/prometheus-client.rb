# frozen_string_literal: true

Gems.use "prometheus-client" do
  requires "prometheus/client"
  setup do
    COUNTER = Prometheus::Client.registry.counter(:seen, docstring: "seen", labels: [:id])
    TIMES = Prometheus::Client.registry.histogram(:times, docstring: "times")
  end
  answer do |id|
    before = COUNTER.get(labels: { id: id })
    3.times { COUNTER.increment(labels: { id: id }) && TIMES.observe(0.1) }
    Hunt.nap
    COUNTER.get(labels: { id: id }) - before
  end
end
