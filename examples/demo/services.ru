# frozen_string_literal: true

# The slow services of the demo, in a process of their own. GET /price/7 answers after 0.3 s,
# /stock/7 after 0.4 s, /reviews/7 after 0.5 s.
# Each request sleeps, as it would in a thread. Here it is a fiber, so hundreds may sleep at once.

require "json"
require_relative "lib/demo/suppliers"

run(lambda do |env|
  _, name, id = env["PATH_INFO"].split("/", 3)
  delay = Demo::Suppliers::DELAYS_S[name]
  unless delay && id.to_s.match?(/\A\d+\z/)
    next [404, { "content-type" => "text/plain" }, ["no such service\n"]]
  end

  sleep delay
  [200, { "content-type" => "application/json" },
   [JSON.generate("service" => name, "product" => id.to_i,
                  "answer" => Demo::Suppliers.answer(name, id.to_i))]]
end)
