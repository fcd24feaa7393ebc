# frozen_string_literal: true

require "elastic-apm"

ElasticAPM.start(server_url: AppAgents::SINK.to_s, service_name: "shop", cloud_provider: "none",
                 central_config: false, metrics_interval: "0s", api_buffer_size: 10_000,
                 logger: Logger.new(File::NULL))

class AppAgents::OfElastic < AppAgents::Agent
  def around(application) = ElasticAPM::Middleware.new(application)

  def identify(id)
    ElasticAPM.set_user({ id: id })
    ElasticAPM.set_label(:request, id)
  end

  def report(error) = ElasticAPM.report(error)
  def span(name, &block) = ElasticAPM.with_span(name) { block.call }

  def carry
    instrumenter = ElasticAPM.agent.instrumenter
    AppAgents::Tasks.carry(:elastic) do
      transaction = ElasticAPM.current_transaction
      span = ElasticAPM.current_span
      lambda do |&work|
        instrumenter.current_transaction = transaction
        instrumenter.current_spans.push(span) if span
        work.call
      end if transaction
    end
  end
end
