# frozen_string_literal: true

# The gems of test/clients/Gemfile, installed once for each Ruby below vendor/, and again when the
# Gemfile changes. The lock file lies beside them.

require "digest"
require "fileutils"
require "rbconfig"

module Clients
  module Bundle
    ROOT = File.expand_path("../../..", __dir__)
    FOLDER = File.join(ROOT, "vendor/clients", RUBY_VERSION)
    GEMFILE = File.join(FOLDER, "Gemfile")

    # The gems could not be installed; the message holds the end of what Bundler said.
    class Unavailable < StandardError; end

    module_function

    # @return [Hash{String => String}] the environment in which `-rbundler/setup` finds them
    # @raise [Unavailable]
    def environment
      raise @failure if @failure

      install unless installed?
      { "BUNDLE_GEMFILE" => GEMFILE, "BUNDLE_APP_CONFIG" => File.join(FOLDER, ".bundle") }
    end

    # @return [String] of the source Gemfile and of this Ruby
    def wanted
      Digest::SHA256.hexdigest(File.read(File.join(ROOT, "test/clients/Gemfile")) +
                               RUBY_DESCRIPTION + ENV.fetch("NB_PG", ""))
    end

    def installed?
      File.exist?(stamp) && File.read(stamp) == wanted
    end

    def stamp
      File.join(FOLDER, "stamp")
    end

    # Installs what is missing before the first test, which has less time. #environment reports a
    # failure.
    def prepare
      environment
    rescue Unavailable => e
      @failure = e
    end

    def install
      puts "clients: installing the libraries into vendor/clients (minutes, the first time)"
      FileUtils.mkdir_p(File.join(FOLDER, ".bundle"))
      FileUtils.rm_f("#{GEMFILE}.lock")
      FileUtils.cp(File.join(ROOT, "test/clients/Gemfile"), GEMFILE)
      File.write(File.join(FOLDER, ".bundle/config"), <<~CONFIG)
        ---
        BUNDLE_PATH: #{File.join(FOLDER, "gems").inspect}
        BUNDLE_JOBS: "2"
        BUNDLE_RETRY: "3"
        BUNDLE_BUILD__FFI: "--enable-system-libffi"
        BUNDLE_BUILD__SQLITE3: "--enable-system-libraries"
      CONFIG
      run_bundler
      File.write(stamp, wanted)
    end

    def run_bundler
      command = %w[bundle install --quiet]
      variables = { "BUNDLE_GEMFILE" => GEMFILE,
                    "BUNDLE_APP_CONFIG" => File.join(FOLDER, ".bundle"),
                    "BUNDLE_SILENCE_ROOT_WARNING" => "1" }
      output = Bundler.with_unbundled_env do
        IO.popen(variables, command, chdir: FOLDER, err: %i[child out], &:read)
      end
      raise Unavailable, "bundle install failed: #{output[-1500..] || output}" unless $?.success?
    end
  end
end
