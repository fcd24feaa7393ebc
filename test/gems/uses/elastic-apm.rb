# frozen_string_literal: true

Gems.use "elastic-apm" do
  requires "elastic-apm"
  setup do
    ElasticAPM.start(server_url: Gems::URL, disable_send: true, logger: Logger.new(File::NULL),
                     cloud_provider: "none", central_config: false, metrics_interval: "0s")
  end
  answer do |id|
    ElasticAPM.with_transaction(id) do
      ElasticAPM.set_user({ id: id })
      Hunt.nap
      ElasticAPM.with_span("inner") do |span|
        [ElasticAPM.current_transaction&.name, span&.transaction&.name,
         Hunt.nap && ElasticAPM.current_span&.name]
      end
    end
  end
end
