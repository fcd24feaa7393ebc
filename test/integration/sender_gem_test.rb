# frozen_string_literal: true

# examples/sender_gem: a gem that adds an algorithm, built against the public header alone and named
# in the configuration file.

require "fileutils"
require "open3"
require "tmpdir"

require_relative "../support/http_client"
require_relative "../test_helper"
require_relative "../support/server_process"

class SenderGemTest < Minitest::Test
  GEM = File.expand_path("../../examples/sender_gem", __dir__)
  INCLUDE = File.expand_path("../../ext/neverblock/include", __dir__)
  BYTES = 5_000_000

  APP = <<~RUBY
    body = Struct.new(:to_path) { def each = yield(File.binread(to_path)) }
    run lambda { |env|
      path = ENV.fetch("FILE_TO_SEND")
      if env["PATH_INFO"] == "/file"
        next [200, { "content-length" => File.size(path).to_s }, body.new(path)]
      end
      [200, {}, [defined?(SenderGem) ? SenderGem.steps.to_s : "none"]]
    }
  RUBY

  def setup
    @folder = Dir.mktmpdir
    @content = Random.new(7).bytes(BYTES)
    File.binwrite("#{@folder}/file", @content)
    FileUtils.cp_r("#{GEM}/lib", @folder)
    FileUtils.mkdir("#{@folder}/build")
    make(RbConfig.ruby, "#{GEM}/ext/sender_gem/extconf.rb", "--with-neverblock-include=#{INCLUDE}")
    make("make")
    library = "#{@folder}/lib/sender_gem/"
    FileUtils.mkdir_p(library)
    FileUtils.cp("#{@folder}/build/sender_gem.#{RbConfig::CONFIG["DLEXT"]}", library)
  end

  def teardown
    FileUtils.remove_entry(@folder)
  end

  def make(*command)
    output, status = Open3.capture2e({ "MAKEFLAGS" => nil }, *command, chdir: "#{@folder}/build")
    assert_predicate status, :success?, output
  end

  def serve(settings, *options)
    file = "#{@folder}/neverblock.rb"
    File.write(file, "$LOAD_PATH.unshift #{"#{@folder}/lib".inspect}\n#{settings}")
    env = { "FILE_TO_SEND" => "#{@folder}/file" }
    ServerProcess.run(APP, env: env, options: ["-C", file, *options]) { |server| yield server }
  end

  def get(server, path)
    HTTPClient.get(URI("#{server.url}#{path}"))
  end

  def test_its_algorithm_sends_a_file
    serve("require \"sender_gem\"\nsendfile { algorithm :ramp }\n", "-w", "1") do |server|
      assert_equal @content, get(server, "/file")
      assert_operator Integer(get(server, "/steps")), :>=, 6 # 16 KB, 32 KB, ... 1 MB
    end
  end

  def test_the_front_of_workers_sends_by_it
    settings = "require \"sender_gem\"\nroute \"/file\", algorithm: :ramp, rate: 100_000_000\n"
    serve(settings, "-w", "2") { |server| assert_equal @content, get(server, "/file") }
  end
end
