# frozen_string_literal: true

# The table of docs/METRICS.md, made from what /metrics of a running server with workers says. A
# test fails when the document has another. To bring it up to date:
#
#   ruby test/support/metrics_document.rb

module MetricsDocument
  PATH = File.expand_path("../../docs/METRICS.md", __dir__)
  MARKS = [
    "<!-- families: made by test/support/metrics_document.rb -->\n",
    "<!-- end of families -->\n"
  ].freeze
  # Of the server whose metrics they are: one that has them all.
  CONFIGURED = ["-C", File.expand_path("metrics_config.rb", __dir__)].freeze
  OPTIONS = ["-w", "2", *CONFIGURED].freeze
  # With a pool.
  APP = <<~RACKUP
    POOL = NB::Pool::FiberedConnectionPool.new { Object.new }
    run ->(_env) { [200, {}, []] }
  RACKUP
  BINDS = ["http://127.0.0.1:0", "https://127.0.0.1:0"].freeze
  UNITS = { "seconds" => "seconds", "bytes" => "bytes", "second" => "bytes a second" }.freeze

  Family = Struct.new(:name, :type, :help, :labels) do
    def unit
      UNITS.fetch(name.delete_suffix("_total")[/[a-z]+\z/], "count")
    end

    def row
      by = " by #{labels.map { |label| "`#{label}`" }.join(", ")}" unless labels.empty?
      "| `#{name}`#{by} | #{type} | #{unit} | #{help} |\n"
    end
  end

  module_function

  # @param text [String] an answer of /metrics
  # @return [Array<Family>]
  def families(text)
    text.split(/^(?=# HELP )/).map do |part|
      name, help = part.match(/\A# HELP (\S+) (.*)$/).captures
      labels = part.scan(/([a-z]+)="/).flatten.uniq - ["le"]
      Family.new(name, part[/^# TYPE \S+ (\w+)$/, 1], help, labels)
    end
  end

  # @return [String]
  def table(text)
    "| family | type | unit | meaning |\n|---|---|---|---|\n#{families(text).map(&:row).join}"
  end

  # @return [String] the table as the document has it
  def written
    File.read(PATH)[/#{Regexp.escape(MARKS[0])}\n(.*)\n#{Regexp.escape(MARKS[1])}/m, 1]
  end

  def renew(text)
    document = File.read(PATH)
    before, rest = document.split(MARKS[0])
    after = rest.split(MARKS[1], 2).last
    File.write(PATH, "#{before}#{MARKS[0]}\n#{table(text)}\n#{MARKS[1]}#{after}")
  end
end

if $PROGRAM_NAME == __FILE__
  require_relative "server_process"
  require_relative "http_client"
  options = ["--admin", "http://127.0.0.1:0", *MetricsDocument::OPTIONS]
  more = { options: options, binds: MetricsDocument::BINDS }
  ServerProcess.run(MetricsDocument::APP, **more) do |server|
    MetricsDocument.renew(HTTPClient.get(URI("#{server.admin_url}/metrics")))
  end
end
