# frozen_string_literal: true

Gems.use "typhoeus" do
  requires "typhoeus"
  note "it waits in libcurl; with ethon 0.19 a handle may come back to its pool before it has ended: EthonError, 1 of some 100 requests beside computing ones"
  answer do |id|
    hydra = Typhoeus::Hydra.new(max_concurrency: 2)
    requests = Array.new(2) { |n| Typhoeus::Request.new("#{Gems::URL}/#{id}-#{n}").tap { |request| hydra.queue(request) } }
    hydra.run
    [Typhoeus.get("#{Gems::URL}/#{id}").body, requests.map { |request| request.response.body }]
  end
end
