# frozen_string_literal: true

# A service that takes a second for each request.

run(lambda do |_env|
  sleep(1)
  [200, { "content-type" => "text/plain" }, ["here you are"]]
end)
