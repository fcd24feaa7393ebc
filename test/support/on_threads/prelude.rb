# frozen_string_literal: true

# What stands before each program of the hunt: the same text on every server. No habit is in here,
# only what habits use.

require "json"
require "net/http"
require "open3"
require "socket"
require "stringio"
require "tempfile"
require "timeout"
require "monitor"

module Hunt
  # A program: #answer does its steps, adds what it has seen to `out` and returns a response.
  class Program
    def call(env)
      id = env["PATH_INFO"].split("/")[2]
      out = []
      begin
        response = answer(env, id, out)
      rescue Exception => e # rubocop:disable Lint/RescueException
        # What ended it is a part of the answer.
        out << "ended by #{e.class}: #{e.message.lines.first&.chomp}"
      end
      response || [200, { "content-type" => "text/plain" }, [Hunt.text(out)]]
    end
  end

  # A connection to somebody else, who answers each question with its own text. Answers that are
  # mixed up are seen.
  class Client
    def initialize
      @ours, @theirs = IO.pipe
      @echo = [+"", 0]
    end

    def ask(text)
      @theirs.write("#{text}\n")
      Hunt.nap
      @ours.gets.chomp
    end

    def open? = !@ours.closed?
  end

  # A number that is ordered by a method in Ruby, which C calls.
  class Ordered
    include Comparable

    attr_reader :number

    def initialize(number, &before) = (@number, @before = number, before)
    def <=>(other) = @before.call && number <=> other.number
    def coerce(other) = [other, @before.call && number]
    def to_s = "#{@before.call && number}"

    def method_missing(name, *)
      name.to_s.start_with?("hunt_") ? (@before.call && "#{name}#{number}") : super
    end

    def respond_to_missing?(name, *) = name.to_s.start_with?("hunt_")
  end

  SERVICE = Integer(ENV.fetch("NB_HUNT_SERVICE", "0"), 10)
  POSTGRESQL = ENV.fetch("NB_HUNT_POSTGRESQL", nil)
  COUNTS = Hash.new(0)
  COUNTS_LOCK = Mutex.new

  module_function

  # Some microseconds each.
  def spin(count)
    sum = 0
    while count.positive?
      count -= 1
      sum += count
    end
    true
  end

  def nap(seconds = 0.001) = sleep(seconds) && true
  def count(name) = COUNTS_LOCK.synchronize { COUNTS[name] += 1 }

  # What it answers takes some milliseconds.
  def fetch(text) = Net::HTTP.get("127.0.0.1", "/#{text}", SERVICE)

  # The same text for the same values on every server.
  def text(out)
    lines = out.map do |value|
      (value.is_a?(String) ? value : value.inspect).gsub(/0x\h+/, "0x")
    end
    "#{lines.join("\n")}\n"
  end

  # What is in use once everything is over.
  def left
    3.times { GC.start }
    {
      descriptors: Dir.children("/proc/self/fd").size,
      threads: Thread.list.size,
      children: children,
      fibers: ObjectSpace.each_object(Fiber).count(&:alive?),
      clients: ObjectSpace.each_object(Client).count,
      **databases
    }
  end

  def children
    Dir.glob("/proc/[0-9]*/stat").count do |file|
      File.read(file).rpartition(")").last.split[1].to_i == Process.pid
    rescue StandardError
      false # it has ended
    end
  end

  def databases
    busy = {}
    if defined?(::ActiveRecord::Base)
      stat = ::ActiveRecord::Base.connection_pool.stat
      busy = { records: stat.slice(:busy, :dead).values.sum }
    end
    defined?(::Hunt::SEQUEL) ? busy.merge(sequel: ::Hunt::SEQUEL.pool.size) : busy
  end

  # GET /NAME/ID for a program, /left for what is left, /counts, /hog/SECONDS.
  class Site
    def initialize(programs) = @programs = programs

    def call(env)
      name, argument = env["PATH_INFO"].split("/")[1, 2]
      case name
      when "left" then [200, {}, [JSON.generate(Hunt.left)]]
      when "counts" then [200, {}, [JSON.generate(COUNTS)]]
      when "hog" then [200, {}, [hog(argument.to_f)]]
      else @programs.fetch(name).call(env)
      end
    end

    def hog(seconds)
      limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
      Hunt.spin(500) while Process.clock_gettime(Process::CLOCK_MONOTONIC) < limit
      "done"
    end
  end
end
