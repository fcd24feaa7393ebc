# frozen_string_literal: true

Gems.use "typhoeus" do
  requires "typhoeus"
  note "it waits in libcurl: its thread is kept, spare executors take the others; a handle that " \
       "has not ended is given to nobody (lib/neverblock/compat/typhoeus.rb)"
  answer do |id|
    hydra = Typhoeus::Hydra.new(max_concurrency: 2)
    requests = Array.new(2) do |n|
      Typhoeus::Request.new("#{Gems::URL}/#{id}-#{n}").tap { |request| hydra.queue(request) }
    end
    hydra.run
    [Typhoeus.get("#{Gems::URL}/#{id}").body, requests.map { |request| request.response.body }]
  end
end
