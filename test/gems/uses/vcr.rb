# frozen_string_literal: true

Gems.use "vcr" do
  requires "vcr", "webmock", "net/http", "tmpdir"
  setup do
    AROUND = {}
    VCR.configure do |config|
      config.cassette_library_dir = Dir.mktmpdir
      config.hook_into :webmock
      config.around_http_request do |request|
        Hunt.nap
        AROUND[request.uri[/\w+\z/]] = request.proceed&.body
      end
    end
  end
  answer do |id|
    uri = URI("#{Gems::URL}/v1/#{id}")
    asked = Array.new(2) do
      VCR.use_cassette(id) { Hunt.nap && [VCR.current_cassette.name == id, Net::HTTP.get(uri)] }
    end
    around = AROUND[id] == asked.last.last
    unlike = begin
      Net::HTTP.get(uri)
    rescue VCR::Errors::UnhandledHTTPRequestError => e
      e.class.name
    end
    [asked, around, unlike, VCR.current_cassette]
  end
end
