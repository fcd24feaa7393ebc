# frozen_string_literal: true

# The text of an application that stalls in each kind of way at each kind of place, until the test
# lets it go: what keeps the executor waits for a byte of a FIFO that the test writes. Its gems have
# a name, a version and lines of their own in each run, and one of them is made in C.

require "fileutils"
require "open3"
require "rbconfig"
require "securerandom"

class StallsApp
  # What each kind of stall is written as. `gate` is the FIFO.
  KINDS = {
    "ruby" => "nil while gate.read_nonblock(1, exception: false) == :wait_readable",
    "gc" => "GC.start while gate.read_nonblock(1, exception: false) == :wait_readable",
    "c_call" => "HoldsLock.call(gate.fileno, +\" \", 1)",
    "blocking_call" => "LetsGo.call(gate.fileno, +\" \", 1)"
  }.freeze
  # In C calls that hold Ruby's lock: one that a signal would cut short, and one after which Ruby
  # looks nowhere until the method's last line.
  SPECIAL = { "poll" => "$polled = Polls.call([gate.fileno, 1, 0].pack('iss'), 1, -1)" }.freeze

  # How a stall stands at each kind of place: in a method that is given the gate and the request's
  # env. What it returns is the response's body, where it is an object of several methods.
  METHODS = {
    "application" => "%s",
    "nested" => "[3, 1, 2].sort_by { |number| number == 3 ? (%s; 3) : number }",
    "enumerator" => "Enumerator.new { |yielder| (%s) and yielder << 1; yielder << 2 }.next",
    "fiber" => "Fiber.new { %s }.resume",
    "eval" => "binding.eval(%%q(%s))",
    "named_eval" => "Class.new.class_eval(%%q(%s), __FILE__, __LINE__)",
    "to_s" => "\"\#{Object.new.tap { |object| " \
              "object.define_singleton_method(:to_s) { (%s).to_s } }}\"",
    "ensured" => "begin; raise 'first'; rescue; 1; ensure; %s; end",
    "body" => "Enumerator.new { |parts| (%s); parts << 'held' }",
    "callback" => "env['rack.response_finished'] << ->(*) { %s }",
    "lane" => "%s",
    "debugged" => "%s"
  }.freeze
  GEMS = { "gem" => "%s", "gem_in_library" => "Set.new([gate]).each { |gate| %s }" }.freeze
  PLACES = [*(METHODS.keys - %w[lane debugged]), *GEMS.keys, "middleware", "view", "loaded"].freeze
  # Of the gem in C.
  NATIVE = { "c_call" => "hold_lock", "blocking_call" => "let_go" }.freeze

  # @return [String] where its files are
  attr_reader :directory

  # @param directory [String] where its files go
  def initialize(directory)
    @directory = File.realpath(directory)
    @places = {}
    write_gems
    write_native_gem
    METHODS.each { |place, code| write_module(place, code, "#{place}.rb") }
    write_middleware
    KINDS.each_value.with_index do |code, at|
      write("views/#{at}.html.erb", ["<p>a view</p>", "", "<% #{code} %>"], "view")
    end
    KINDS.each_value.with_index do |code, at|
      write("loaded/#{at}.rb", ["# at its top", "gate = $gate", code], "loaded")
    end
  end

  # @return [String] what the log is to blame
  def culprit(place, kind)
    @places.fetch([place, kind])
  end

  # @return [String] text of the rackup file
  def rackup
    <<~RACKUP
      require "erb"
      require "fiddle"
      require "set"
      read = Fiddle::Handle::DEFAULT["read"]
      words = [Fiddle::TYPE_INT, Fiddle::TYPE_VOIDP, Fiddle::TYPE_LONG], Fiddle::TYPE_LONG
      HoldsLock = Fiddle::Function.new(read, *words, need_gvl: true)
      poll = Fiddle::Handle::DEFAULT["poll"]
      polled = [Fiddle::TYPE_VOIDP, Fiddle::TYPE_LONG, Fiddle::TYPE_INT], Fiddle::TYPE_INT
      Polls = Fiddle::Function.new(poll, *polled, need_gvl: true)
      LetsGo = Fiddle::Function.new(read, *words, need_gvl: false)
      sleep 0.3 # a load that takes long is no stall
      [#{@files.map(&:inspect).join(", ")}].each { |file| require file }
      KINDS = #{KINDS.keys}
      use Middleware
      run ->(env) {
        _, place, kind, tag = env["PATH_INFO"].split("/")
        next [200, {}, ["fine"]] unless tag
        gate = $gate = File.open(#{fifo("").inspect} + tag, File::RDWR)
        body =
          case place
          when "view"
            view = "#{@directory}/views/\#{KINDS.index(kind)}.html.erb"
            ERB.new(File.read(view)).tap { |erb| erb.filename = view }.result(binding)
          when "loaded" then load "#{@directory}/loaded/\#{KINDS.index(kind)}.rb"
          else
            stalls = Object.const_get("Stalls\#{place.split("_").map(&:capitalize).join}")
            stalls.public_send(kind, gate, env)
          end
        parts = body if body.respond_to?(:each) && place == "body"
        [200, { "x-polled" => $polled.to_s }, parts || ["held"]]
      }
    RACKUP
  end

  # @return [String] where a request with this tag waits
  def fifo(tag)
    File.join(@directory, "gate-#{tag}")
  end

  # Makes the gate of a request.
  def close_gate(tag)
    File.mkfifo(fifo(tag))
  end

  # Lets it go, be it that it has not come there yet.
  def open_gate(tag)
    gate = File.open(fifo(tag), File::RDWR | File::NONBLOCK)
    gate.syswrite("x")
    (@open ||= []) << gate
  end

  # @param text [String] of its config/neverblock.rb
  def configure(text)
    FileUtils.mkdir_p("#{directory}/config")
    File.write("#{directory}/config/neverblock.rb", text)
  end

  private

  # @param lines [Array<String>] of a file, in which each kind's code is on one
  # @param shown [String] how the log names the file
  # @return [String] its path
  def write(name, lines, place, folder: @directory, shown: name, codes: KINDS.merge(SPECIAL))
    path = File.join(folder, name)
    FileUtils.mkdir_p(File.dirname(path))
    File.write(path, "#{lines.join("\n")}\n")
    codes.each do |kind, code|
      number = lines.index { |line| line.include?(code) } or next
      @places[[place, kind]] = "#{shown}:#{number + 1}"
    end
    path
  end

  def constant(place)
    "Stalls#{place.split("_").map(&:capitalize).join}"
  end

  # A module with a method for each kind.
  def write_module(place, code, name, codes: KINDS.merge(SPECIAL), **rest)
    lines = Array.new(rand(1..200), "") + ["module #{constant(place)}"]
    codes.each do |kind, stall|
      lines << "  def self.#{kind}(gate, env)" << "    #{format(code, stall)}" << "  end"
    end
    (@files ||= []) << write(name, lines << "end", place, codes: codes, **rest)
  end

  # @return [String] name and version, none that is anywhere else
  def invent_gem
    "x#{SecureRandom.alphanumeric(9).downcase}-#{rand(9)}.#{rand(99)}"
  end

  def write_gems
    gem = invent_gem
    folder = File.join(@directory, "gems", gem)
    GEMS.each do |place, code|
      file = "lib/#{place}.rb"
      write_module(place, code, file, folder: folder, shown: "#{gem} #{file}")
    end
  end

  # It stalls in C, called by its own Ruby.
  def write_native_gem
    gem = invent_gem
    folder = File.join(@directory, "gems", gem)
    FileUtils.mkdir_p(folder)
    File.write(File.join(folder, "stalls_native.c"), NATIVE_TEXT)
    File.write(File.join(folder, "extconf.rb"),
               "require 'mkmf'\ncreate_makefile('stalls_native')\n")
    output, status = Open3.capture2e("#{RbConfig.ruby} extconf.rb && make", chdir: folder)
    raise output unless status.success?

    codes = NATIVE.transform_values { |name| "StallsNative.#{name}(gate.fileno)" }
    write_module("native", "%s", "lib/native.rb",
                 folder: folder, shown: "#{gem} lib/native.rb", codes: codes)
    @files.unshift(File.join(folder, "stalls_native.#{RbConfig::CONFIG["DLEXT"]}"))
  end

  NATIVE_TEXT = <<~C
    #include <ruby.h>
    #include <ruby/thread.h>
    #include <unistd.h>

    static void *take(void *fd) {
        char byte;
        return (void *)(read((int)(long)fd, &byte, 1));
    }

    static VALUE hold_lock(VALUE self, VALUE fd) {
        return LONG2NUM((long)take((void *)NUM2LONG(fd)));
    }

    static VALUE let_go(VALUE self, VALUE fd) {
        return LONG2NUM((long)rb_thread_call_without_gvl(take, (void *)NUM2LONG(fd), NULL, NULL));
    }

    void Init_stalls_native(void) {
        VALUE module = rb_define_module("StallsNative");
        rb_define_singleton_method(module, "hold_lock", hold_lock, 1);
        rb_define_singleton_method(module, "let_go", let_go, 1);
    }
  C
  private_constant :NATIVE_TEXT

  def write_middleware
    lines = [
      "class Middleware",
      "  def initialize(app) = @app = app",
      "  def call(env)",
      "    _, place, kind, tag = env['PATH_INFO'].split('/')",
      "    return @app.call(env) unless place == 'middleware'",
      "    gate = File.open(#{fifo("").inspect} + tag, File::RDWR)",
      "    case kind"
    ]
    KINDS.each { |kind, code| lines << "    when '#{kind}' then #{code}" }
    lines += ["    end", "    [200, {}, ['held']]", "  end", "end"]
    @files << write("middleware.rb", lines, "middleware")
  end
end
