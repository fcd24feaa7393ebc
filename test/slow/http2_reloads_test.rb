# frozen_string_literal: true

require "open3"
require_relative "../support/self_signed_certificate"
require_relative "../support/server_process"

# Tests reloads while h2load keeps 1,000 streams of HTTP/2 over TLS busy: each request is answered.
# NB_HTTP2_RELOADS (20) is the number of reloads.
class HTTP2ReloadsTest < Minitest::Test
  RELOADS = Integer(ENV.fetch("NB_HTTP2_RELOADS", "20"), 10)
  REQUESTS = 200_000
  SUMMARY = /^requests: .*/
  WHOLE = /#{REQUESTS} succeeded, 0 failed, 0 errored, 0 timeout/
  APP = "run ->(_env) { [200, { 'content-type' => 'text/plain' }, ['hello']] }\n"

  def test_no_request_fails_while_the_server_is_reloaded_again_and_again
    skip "h2load is not installed" unless system("which h2load > /dev/null 2>&1")
    Dir.mktmpdir do |folder|
      bind = "https://127.0.0.1:0?#{SelfSignedCertificate.new.write(folder)}"
      ServerProcess.run(APP, binds: [bind], options: ["-w", "2"]) do |server|
        reloaded = false
        loading = Thread.new { load_until(server.url) { reloaded } }
        reload(server)
        reloaded = true
        summaries = loading.value
        puts "#{RELOADS} reloads, #{summaries.size} times #{REQUESTS} requests"

        summaries.each { |summary| assert_match WHOLE, summary }
      end
    end
  end

  private

  def load_until(url)
    summaries = []
    until yield && summaries.any?
      out, = Open3.capture2e("h2load", "-n", REQUESTS.to_s, "-c", "10", "-m", "100", "#{url}/")
      summaries << (out[SUMMARY] || out)
    end
    summaries
  end

  def reload(server)
    RELOADS.times do |number|
      Process.kill(:HUP, server.pid)
      Patience.await("reload #{number + 1}") { server.stderr.scan("reloaded: ").size > number }
    end
  end
end
