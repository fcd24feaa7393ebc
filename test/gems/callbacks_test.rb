# frozen_string_literal: true

# Tests gems in C that call Ruby. 20 requests are in the middle of one another's callbacks, beside
# requests that compute. The callbacks compute past a time slice, wait and raise. Each request gets
# the answer that a plain thread gives.
# docs/decisions/0011 says what is known of each gem.

require "open3"
require "rbconfig"

require_relative "../support/gem_bundle"
require_relative "../support/server_process_case"
require_relative "../support/services"

class CallbacksOfGemsTest < ServerProcessCase
  AT_ONCE = 20
  ROUNDS = 2
  HOGS = 2

  APP = File.expand_path("support/app_callbacks.rb", __dir__)
  NAMES = Dir[File.expand_path("support/callbacks/*.rb", __dir__)].sort.flat_map do |file|
    File.read(file).scan(/^    def (\w+)\(me, _?turn\)/).flatten
  end.freeze
  BUNDLE = GemBundle.new(File.expand_path("callbacks.gemfile", __dir__), "bundle-callbacks")

  class << self
    def app
      <<~RACKUP
        require "#{APP}"
        run GemCallbacks.new
      RACKUP
    end

    def server_options
      { env: environment, options: ["-C", configuration] }
    end

    def environment
      @environment ||= BUNDLE.env.merge("RUBYOPT" => "-rbundler/setup",
                                        "NB_PG_PORT" => Services.postgresql.port.to_s,
                                        "NB_MYSQL_PORT" => Services.mariadb.port.to_s)
    end

    def configuration
      @folder ||= Dir.mktmpdir("neverblock-callbacks").tap do |made|
        Minitest.after_run { FileUtils.rm_rf(made) }
      end
      File.join(@folder, "neverblock.rb").tap do |file|
        File.write(file, "executor { slice_ms 2 }\n")
      end
    end

    # @return [Hash{String => Array}] what threads answer, one after another
    def expected
      @expected ||= begin
        out, err, status = Open3.capture3(environment, RbConfig.ruby, APP, AT_ONCE.to_s, *NAMES)
        raise "on threads: #{err}" unless status.success?

        JSON.parse(out)
      end
    end
  end

  BUNDLE.env # the first time takes longer than a test may

  NAMES.each do |name|
    define_method("test_each_has_its_own_#{name}") do
      expected = self.class.expected.fetch(name)
      if expected.dig(0, 0).is_a?(Hash) && expected.dig(0, 0).key?("missing")
        skip expected.dig(0, 0, "missing")[/\A.{,120}/]
      end
      server
      hogs = Array.new(HOGS) { Thread.new { parsed(ask("/hog?me=0")) } }
      ROUNDS.times { assert_equal expected, answers(name) }
      hogs.each(&:value)
    end
  end

  private

  def answers(name)
    Array.new(AT_ONCE) { |me| Thread.new { parsed(ask("/#{name}?me=#{me}")) } }.map(&:value)
  end
end
