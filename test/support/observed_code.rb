# frozen_string_literal: true

# Runs code whose waits are recorded as a server records them (/observed.json), without waiting: the
# clients of this file take a wait's length as an argument. Their frames count as a gem's.

require "fileutils"
require "tmpdir"

module ObservedCode
  class << self
    # @param source [String] Ruby that defines methods; `show` is called
    # @return [Hash] a document of /observed.json
    def run(source, folder)
      path = File.join(folder, "app.rb")
      File.write(path, source)
      @folder = folder
      @frames = {}
      @waits = []
      @clock_s = 0.0
      application = Class.new { include ObservedCode }.tap { |made| made.class_eval(source, path, 1) }.new
      application.show
      { "requests" => [request] }
    end

    # @param kind [String]
    # @param for_s [Float]
    # @param name [String] of the gem's method that waits, as "PG::Connection#exec"
    def wait(kind, for_s, name, what: nil, ends: true)
      stack = caller_locations(2).filter_map { |place| number_of(place, name) }
      stack.unshift(number([__FILE__, 1, name, true]))
      @waits << { "kind" => kind, "what" => what, "start_s" => @clock_s, "for_s" => for_s,
                  "ends" => ends, "stack" => stack }
      @clock_s += for_s
    end

    private

    def request
      { "method" => "GET", "path" => "/", "run_s" => @clock_s, "frames" => @frames.keys,
        "waits" => @waits }
    end

    # Of the application's frames; what is outside of it is not kept.
    def number_of(place, _name)
      return unless place.absolute_path.to_s.start_with?(@folder) || place.path.start_with?(@folder)

      number([place.path, place.lineno, place.label, false])
    end

    def number(frame)
      @frames[frame] ||= @frames.size
    end
  end

  # As clients of services are called; the first argument may be anything.
  module HTTP
    %w[get head fetch].each do |name|
      define_singleton_method(name) do |path = "/", for_s = 0.1, **|
        ObservedCode.wait("http", for_s, "HTTP.#{name}", what: "10.0.0.9:443")
        "answer to #{path}"
      end
    end
    %w[post put patch delete].each do |name|
      define_singleton_method(name) do |path = "/", for_s = 0.1, **|
        ObservedCode.wait("http", for_s, "HTTP.#{name}", what: "10.0.0.9:443")
        "answer to #{path}"
      end
    end
  end

  # An ActiveRecord-like model: `Model.find(id)`, `Model.where(...)`, `Model.create(...)`.
  class Model
    attr_accessor :id, :name, :owner_id

    def initialize(id = 1)
      @id = @owner_id = id
      @name = "name"
    end

    class << self
      %w[find find_by first last count all where pluck create create! update_all].each do |name|
        define_method(name) do |*_, for_s: 0.05, **|
          ObservedCode.wait("database", for_s, "ActiveRecord::Querying##{name}")
          %w[all where pluck].include?(name) ? Array.new(6) { |at| new(at) } : new
        end
      end

      def transaction
        yield
      end
    end

    def save(for_s: 0.05)
      ObservedCode.wait("database", for_s, "ActiveRecord::Persistence#save")
      true
    end

    # A row of another table.
    def owner(for_s: 0.05)
      ObservedCode.wait("database", for_s, "ActiveRecord::Associations#reader")
      Model.new
    end
  end

  # A connection of a driver: told by SQL.
  class Connection
    %w[exec exec_params query].each do |name|
      define_method(name) do |_sql, *_, for_s: 0.05|
        ObservedCode.wait("database", for_s, "PG::Connection##{name}", what: "pg 10.0.0.5:5432")
        [{ "id" => 1 }]
      end
    end
  end

  module Shell
    def self.sleep(for_s = 0.1)
      ObservedCode.wait("sleep", for_s, "Kernel#sleep")
    end
  end
end
