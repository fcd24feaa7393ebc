# frozen_string_literal: true

require "json"
require "open3"
require "shellwords"
require "yaml"
require "neverblock/cli/commands"

module Samples
  # A sample that is data: parsed, and given to the program it is for.
  class DataSample
    WORDS_OF_DOCKER = %w[FROM WORKDIR COPY RUN ENV CMD EXPOSE USER].freeze

    def initialize(block, sandbox)
      @block = block
      @sandbox = sandbox
    end

    # @raise [StandardError]
    def run
      public_send("run_#{@block.kind}")
    end

    def run_json = JSON.parse(@block.text)

    def run_yaml
      data = YAML.safe_load(@block.text)
      raise "is no mapping" unless data.is_a?(Hash)

      return promtool("config", @block.text) if data.key?("scrape_configs")
      return promtool("rules", @block.text) if data.key?("groups")

      name = data.dig("production", "adapter")
      name ? adapter(name) : containers(data)
    end

    def run_promql
      rules = @block.text.lines.each_with_index.map do |line, index|
        { "record" => "sample:#{index}", "expr" => line.chomp }
      end
      promtool("rules", YAML.dump("groups" => [{ "name" => "sample", "rules" => rules }]))
    end

    def run_dockerfile
      words = @block.text.lines.map { |line| line[/\A\S+/] }
      raise "not known: #{words - WORDS_OF_DOCKER}" unless (words - WORDS_OF_DOCKER).empty?

      command(JSON.parse(@block.text[/^CMD (.+)/, 1]))
    end

    private

    # @param what [String] "config" or "rules"
    def promtool(what, text)
      output, status = Open3.capture2e("promtool", "check", what,
                                       @sandbox.write("prometheus.yml", text))
      raise output unless status.success?
    rescue Errno::ENOENT
      throw :unchecked, "needs promtool"
    end

    def adapter(name)
      path = "active_record/connection_adapters/#{name}_adapter.rb"
      raise "there is no adapter #{name}" unless File.exist?(File.join(ROOT, "lib", path))
    end

    # Probes ask for pages of the admin address, on its port.
    def containers(data)
      container = data["containers"]&.first || data
      probes = container.select { |name, _| name.end_with?("Probe") }
      raise "no probe, and nothing else that is known" if probes.empty?

      ports = [9293, *container["ports"]&.map { |port| port["name"] }]
      probes.each_value do |probe|
        asked = probe.fetch("httpGet")
        raise "#{asked}" unless %w[/ready /health].include?(asked["path"]) &&
                                ports.include?(asked["port"])
      end
      command(container["command"]) if container["command"]
    end

    def command(words)
      raise "not ours: #{words}" unless words.first(3) == %w[bundle exec neverblock]

      NeverBlock::CLI::Options.parse(words.drop(3), {})
    end
  end
end
