# frozen_string_literal: true

require_relative "../../support/unit"
require_relative "../../support/patience"
require "open3"
require "rbconfig"

# A Ractor has no scheduler. What NeverBlock has put before Ruby's own methods answers there as if
# NeverBlock was not loaded.
class CompatRactorsTest < Minitest::Test
  SCRIPT = <<~'RUBY'
    require "socket"
    require "tmpdir"
    require "timeout"
    require "neverblock" if ARGV.first == "neverblock"
    Thread.report_on_exception = false
    def ractor(name, &block)
      ractor = Ractor.new(&block)
      puts "#{name}: #{(ractor.respond_to?(:value) ? ractor.value : ractor.take).inspect}"
    rescue Ractor::RemoteError => e
      puts "#{name}: #{e.cause.class} #{e.cause.message}"
    end
    Dir.chdir(folder = Dir.mktmpdir)
    File.write("loaded.rb", "1")
    File.mkfifo("fifo")

    ractor("close") { IO.pipe.each(&:close).map(&:closed?) }
    ractor("halves") { IO.pipe.then { |r, w| [w.close_write, r.close_read, r.closed?] } }
    ractor("socket") { UNIXSocket.pair.then { |a, _| [a.close_read, a.close_write, a.closed?] } }
    ractor("duplex") { IO.popen("cat", "r+") { |io| (io << "x").close_write || io.read } }
    ractor("reopen") { IO.pipe.first.reopen("loaded.rb").read }
    ractor("write") { [File.write("w", "a"), File.binwrite("w", "b"), IO.write("w", "c")] }
    ractor("read") { [File.read("w"), File.binread("w"), File.readlines("w"), IO.read("w")] }
    ractor("open") { File.open("w") { |file| [file.read, file.pread(1, 0)] } }
    ractor("fifo") { [Thread.new { File.write("fifo", "y") }, File.read("fifo")].last }
    ractor("copy") { IO.pipe { |r, w| [IO.copy_stream("w", w), w.close, r.read] } }
    ractor("fiber") { Fiber.new { Fiber.yield 1 }.then { |fiber| [fiber.resume, fiber.alive?] } }
    ractor("raise") { Fiber.new { Fiber.yield }.tap(&:resume).raise("x") rescue $!.message }
    ractor("enumerator") { [1, 2].each.then { |e| [e.next, e.peek, e.next_values, e.size] } }
    ractor("variables") do
      thread = Thread.current
      thread.thread_variable_set(:a, 1)
      [thread.thread_variable_get(:a), thread.thread_variable?(:a), thread.thread_variables]
    end
    ractor("condition") do
      mutex = Mutex.new
      # The second is nil or 0, in Ruby without NeverBlock too.
      mutex.synchronize { [mutex.sleep(0), ConditionVariable.new.wait(mutex, 0.001).to_i] }
    end
    ractor("queue") { Queue.new.tap { |queue| queue << 1 }.close.pop }
    ractor("timeout") { Timeout.timeout(0.001) { sleep } rescue $!.message }
    ractor("fork") { Process.wait2(fork { exit!(4) }).last.exitstatus }
    ractor("load") { load("./loaded.rb") }
    ractor("server") { TCPServer.open("127.0.0.1", 0) { |server| server.addr.first } }
    ractor("address") { Addrinfo.tcp("127.0.0.1", "80").ip_port }
    FileUtils.rm_r(folder)
  RUBY

  def test_a_ractor_answers_as_without_neverblock
    with, without = %w[neverblock none].map { |loaded| run_script(loaded) }
    refute_empty without
    assert_equal without, with
  end

  private

  def run_script(*arguments)
    load_path = $LOAD_PATH.map { |path| "-I#{path}" }
    out, = Open3.capture2("timeout", Patience::SECONDS.to_s, RbConfig.ruby, "-W0", *load_path,
                          "-e", SCRIPT, *arguments)
    out.lines(chomp: true)
  end
end
