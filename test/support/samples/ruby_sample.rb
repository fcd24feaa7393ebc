# frozen_string_literal: true

require "bundler"
require "net/http"
require "neverblock/config/user_file"
require "open3"
require "rbconfig"
require "ripper"
require "socket"
require_relative "../server_process"

module Samples
  # A sample in Ruby. What it is for is seen from the words it begins its lines with.
  class RubySample
    IN = File.join(__dir__, "in")
    HERE = "# SAMPLE\n"
    GEMFILE = %w[gem source group].freeze
    # What comes first in samples/in/*.ru: the request, and the status it is answered with.
    ASKED = /\A# (GET|POST) (\S+) => (\d{3})(?: (.+))?$/
    QUESTION = ["POST", "/", "200", nil].freeze
    WEBSOCKET = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" \
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

    # @param block [Block]
    # @param sandbox [Sandbox]
    def initialize(block, sandbox)
      @block = block
      @sandbox = sandbox
    end

    # @return [Symbol] :gemfile, :config, :rackup or :program
    def kind
      return File.extname(@block.inside) == ".ru" ? :rackup : :program if @block.inside

      words = top_words
      return :gemfile if words.any? && (words - GEMFILE).empty?
      return :config if words.any? && (words - settings).empty?

      words.include?("run") ? :rackup : :program
    end

    # @return [void]
    # @raise [StandardError] it does not do what it should
    def run
      parse
      public_send("run_#{kind}")
    end

    # @raise [RuntimeError] another gem, or a file that ours does not have
    def run_gemfile
      definition = Bundler::Dsl.new.tap { |dsl| dsl.instance_eval(@block.text) }
      definition.dependencies.each do |dependency|
        raise "the gem is not ours: #{dependency.name}" unless dependency.name == "neverblock"

        Array(dependency.autorequire).each do |path|
          file = File.join(ROOT, "lib", "#{path}.rb")
          raise "there is no #{file}" unless File.exist?(file)
        end
      end
    end

    def run_config
      path = @sandbox.write("sample.rb", @sandbox.localize(@block.text))
      values = Dir.chdir(@sandbox.folder) { NeverBlock::Config::UserFile.read(path) }
      raise "nothing is set" if values.empty?
    end

    def run_program
      # Threads that a sample itself has started have to end, and well.
      ended = "Thread.list.each { |thread| thread.join unless thread == Thread.main }\n"
      path = @sandbox.write("sample.rb", "#{whole}\n#{ended unless @block.inside}")
      command = ["timeout", Patience::SECONDS.to_s, RbConfig.ruby, "-I", File.join(ROOT, "lib"),
                 "-I", __dir__, "-r", "neverblock"]
      output, status = Open3.capture2e(*command, path, chdir: @sandbox.folder)
      raise "status #{status.exitstatus}: #{output}" unless status.success?
    end

    def run_rackup
      text = whole
      method, target, status, body = ASKED.match(text)&.captures || QUESTION
      # What the sample names lies in its sandbox.
      options = ["--sendfile-root", @sandbox.at("srv/files")]
      ServerProcess.run("# Runs in #{@sandbox.folder}\n#{text}", options: options) do |server|
        head, answer = ask(URI(server.url), method, target)
        complaint = "#{method} #{target}: #{head}\n#{answer}\n#{server.stderr}"
        raise complaint unless head.include?(" #{status} ")
        raise complaint if body && !answer.include?(body)
      end
    end

    private

    def parse
      return if Ripper.sexp(@block.text)

      raise SyntaxError, "#{@block.place}: is no Ruby"
    end

    # The name of each call at the top, with its arguments or block.
    def top_words
      statements = Ripper.sexp(@block.text)&.at(1) or return []
      statements.filter_map do |node|
        node = node[1] while %i[method_add_block method_add_arg].include?(node.first)
        case node.first
        when :command, :fcall then node[1][1]
        when :void_stmt then nil
        else ""
        end
      end
    end

    def settings
      known = NeverBlock::Config::Words.known(nil).map(&:to_s)
      known - ["run"]
    end

    def whole
      return @sandbox.localize(@block.text) unless @block.inside

      frame = File.read(File.join(IN, @block.inside))
      raise "samples/in/#{@block.inside} has no line #{HERE}" unless frame.include?("# SAMPLE\n")

      @sandbox.localize(frame.sub(/^ *#{HERE}/) { @block.text })
    end

    # The answer to one request on a connection of its own.
    def ask(url, method, target)
      Socket.tcp(url.host, url.port) do |socket|
        fields = target == "/websocket" ? WEBSOCKET : "Connection: close\r\n"
        body = method == "POST" ? "sample" : ""
        socket.write("#{method} #{target} HTTP/1.1\r\nHost: localhost\r\n#{fields}" \
                     "Content-Length: #{body.bytesize}\r\n\r\n#{body}")
        head = socket.gets("\r\n\r\n").to_s
        [head, head.include?(" 101 ") ? "" : socket.read.to_s]
      end
    end
  end
end
