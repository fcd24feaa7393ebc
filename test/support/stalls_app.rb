# frozen_string_literal: true

# The text of an application that stalls in each kind of way at each kind of place, until the test lets it go: what keeps the executor waits for a byte of a FIFO
# that the test writes. A gem with a name and a line of its own is made for each run.

require "fileutils"
require "securerandom"

class StallsApp
  # What each kind of stall is written as. `gate` is the FIFO. "poll" is a C call that no signal may interrupt.
  KINDS = {
    "ruby" => "nil while gate.read_nonblock(1, exception: false) == :wait_readable",
    "gc" => "GC.start while gate.read_nonblock(1, exception: false) == :wait_readable",
    "c_call" => "HoldsLock.call(gate.fileno, +\" \", 1)",
    "poll" => "$polled = Polls.call([gate.fileno, 1, 0].pack('iss'), 1, -1)",
    "blocking_call" => "LetsGo.call(gate.fileno, +\" \", 1)"
  }.freeze
  PLACES = %w[application nested middleware view gem gem_in_library].freeze

  # A place where a stall stands, as the log names it.
  Place = Struct.new(:file, :line, :shown)

  # @return [String] where its files are
  attr_reader :directory

  # @param directory [String] where its files go
  def initialize(directory)
    @directory = File.realpath(directory)
    @gem_name = "x#{SecureRandom.alphanumeric(9).downcase}-#{rand(9)}.#{rand(99)}"
    @places = {}
    write_gem
    write_application
    write_views
  end

  # @return [String] what the log is to blame
  def culprit(place, kind)
    @places.fetch([place, kind])
  end

  # @return [String] text of the rackup file
  def rackup
    <<~RACKUP
      require "fiddle"
      read = Fiddle::Handle::DEFAULT["read"]
      words = [Fiddle::TYPE_INT, Fiddle::TYPE_VOIDP, Fiddle::TYPE_LONG], Fiddle::TYPE_LONG
      HoldsLock = Fiddle::Function.new(read, *words, need_gvl: true)
      Polls = Fiddle::Function.new(Fiddle::Handle::DEFAULT["poll"], [Fiddle::TYPE_VOIDP, Fiddle::TYPE_LONG, Fiddle::TYPE_INT], Fiddle::TYPE_INT, need_gvl: true)
      LetsGo = Fiddle::Function.new(read, *words, need_gvl: false)
      sleep 0.3 # a load that takes long is no stall
      require "#{@directory}/app.rb"
      use StallsMiddleware
      run StallsApplication
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
    (@open ||= []) << File.open(fifo(tag), File::RDWR | File::NONBLOCK).tap { |gate| gate.syswrite("x") }
  end

  private

  def write(name, lines, place, folder: @directory, shown: name)
    path = File.join(folder, name)
    FileUtils.mkdir_p(File.dirname(path))
    File.write(path, "#{lines.join("\n")}\n")
    KINDS.each do |kind, code|
      number = lines.index { |line| line.include?(code) } or next
      @places[[place, kind]] = "#{shown}:#{number + 1}"
    end
  end

  def write_gem
    name = @gem_name[/\A\w+/]
    folder = File.join(@directory, "gems", @gem_name)
    lines = Array.new(rand(1..200), "") + ["module StallsGem"]
    KINDS.each { |kind, code| lines << "  def self.#{kind}(gate)" << "    #{code}" << "  end" }
    write("lib/#{name}.rb", lines << "end", "gem", folder: folder, shown: "#{@gem_name} lib/#{name}.rb")
    lines = Array.new(rand(1..200), "") + ["require 'set'", "module StallsGemInLibrary"]
    KINDS.each { |kind, code| lines << "  def self.#{kind}(gate)" << "    Set.new([gate]).each { |gate| #{code} }" << "  end" }
    write("lib/#{name}/inner.rb", lines << "end", "gem_in_library", folder: folder, shown: "#{@gem_name} lib/#{name}/inner.rb")
  end

  def write_application
    name = @gem_name[/\A\w+/]
    library = File.join(@directory, "gems", @gem_name, "lib", name)
    lines = ["require #{library.inspect}", "require #{File.join(library, "inner").inspect}", "require 'erb'", "module Nested"]
    KINDS.each { |kind, code|
      lines << "  def self.#{kind}(gate) = [3, 1, 2].sort_by { |number| number == 3 ? inner_#{kind}(gate) : number }"
      lines << "  def self.inner_#{kind}(gate)" << "    #{code}" << "    1" << "  end"
    }
    write("nested.rb", lines << "end", "nested")
    lines = ["require #{File.join(@directory, "nested").inspect}", "class StallsMiddleware", "  def initialize(app) = @app = app", "  def call(env)",
             "    _, place, kind, tag = env['PATH_INFO'].split('/')", "    return @app.call(env) unless place == 'middleware'",
             "    gate = File.open(#{File.join(@directory, "gate-").inspect} + tag, File::RDWR)", "    case kind"]
    KINDS.each { |kind, code| lines << "    when '#{kind}' then #{code}" }
    write("middleware.rb", lines + ["    end", "    [200, {}, ['held']]", "  end", "end"], "middleware")
    lines = ["require #{File.join(@directory, "middleware").inspect}", "StallsApplication = lambda do |env|",
             "  _, place, kind, tag = env['PATH_INFO'].split('/')", "  next [200, {}, ['fine']] unless tag", "  gate = File.open(#{File.join(@directory, "gate-").inspect} + tag, File::RDWR)",
             "  case place", "  when 'nested' then Nested.public_send(kind, gate)", "  when 'gem' then StallsGem.public_send(kind, gate)",
             "  when 'gem_in_library' then StallsGemInLibrary.public_send(kind, gate)",
             "  when 'view' then ERB.new(File.read(view = File.join(#{@directory.inspect}, 'views', kind + '.html.erb'))).tap { |erb| erb.filename = view }.result(binding)",
             "  when 'application'", "    case kind"]
    KINDS.each { |kind, code| lines << "    when '#{kind}' then #{code}" }
    write("app.rb", lines + ["    end", "  end", "  [200, { 'x-polled' => $polled.to_s }, ['held']]", "end"], "application")
  end

  def write_views
    KINDS.each { |kind, code| write("views/#{kind}.html.erb", ["<p>a view</p>", "", "<% #{code} %>"], "view") }
  end
end
