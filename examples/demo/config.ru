# frozen_string_literal: true

# The demo is an ordinary Rack application that waits a lot. bin/demo starts it, together with the
# slow services it asks (services.ru).

require_relative "lib/demo/application"
require_relative "lib/demo/figures"
require_relative "lib/demo/server_figures"

use Demo::Figures, server: Demo::ServerFigures.new(ENV["DEMO_ADDRESS_FILE"])

run Demo::Application.new(
  suppliers: Demo::Suppliers.new(ENV["DEMO_SERVICES"]),
  catalog: Demo::Catalog.open(
    ENV.fetch("DEMO_DATABASE") { File.expand_path("../../build/demo/catalog.sqlite3", __dir__) }
  ),
  runs: Demo::Runs.new(ENV["DEMO_ADDRESS_FILE"])
)
