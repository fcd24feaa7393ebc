# frozen_string_literal: true

# Runs code whose waits are recorded as a server records them (/observed.json), without waiting: the
# clients of this file take a wait's length as an argument. Their frames count as a gem's.

require "fileutils"
require "tmpdir"

module ObservedCode
  # Frames of this path are a gem's that calls the application.
  GEM = "/gems/record.rb"

  class << self
    # @param source [String] Ruby that defines methods; `show` is called
    # @return [Hash] a document of /observed.json
    def run(source, folder)
      path = File.join(folder, "app.rb")
      File.write(path, source)
      @folder = folder
      @source = source
      @frames = {}
      @waits = []
      @clock_s = 0.0
      application_of(source, path).new.show
      { "requests" => [request] }
    end

    # @param kind [String]
    # @param for_s [Float]
    # @param name [String] of the gem's method that waits, as "PG::Connection#exec"
    # @param inside [String, nil] what that has called
    def wait(kind, for_s, name, what: nil, ends: true, inside: nil)
      stack = caller_locations(2).filter_map { |place| number_of(place) }
      stack.unshift(*[inside, name].compact.map { |one| number([__FILE__, 1, one, true]) })
      @waits << { "kind" => kind, "what" => what, "start_s" => @clock_s, "for_s" => for_s,
                  "ends" => ends, "stack" => stack }
      @clock_s += for_s
    end

    private

    # Classes that the source defines see the clients too: constants are looked up by nesting.
    def application_of(source, path)
      Class.new do
        ObservedCode.constants.each { |name| const_set(name, ObservedCode.const_get(name)) }
        class_eval(source, path, 1)
      end
    end

    def request
      { "method" => "GET", "path" => "/", "run_s" => @clock_s, "frames" => @frames.keys,
        "waits" => @waits }
    end

    # Of the application's frames, and of a gem's around them.
    def number_of(place)
      return number([GEM, place.lineno, name_of(place), true]) if place.path == GEM

      paths = [place.absolute_path, place.path].compact
      return unless paths.any? { |path| path.start_with?(@folder) }
      return if in_c?(place)

      number([place.path, place.lineno, name_of(place), false])
    end

    # A block has its method's name there.
    def name_of(place)
      place.label.sub(/\A(block|rescue|ensure) (\(\d+ levels\) )?in (?!<)/, "")
    end

    # Ruby gives functions in C the path of their caller.
    def in_c?(place)
      name = Regexp.escape(place.base_label)
      place.label.match?(/\A(\w+[#.])*#{name}\z/) && !name.start_with?("<") &&
        !@source.match?(/(def (\w+\.)?|define(_singleton)?_method\(?:)#{name}(?![\w?!])/)
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

  # A connection of Faraday's: it keeps its headers, and answers with a status and a body.
  class Faraday
    Response = Struct.new(:status, :body, :headers) do
      def success?
        status < 400
      end
    end

    attr_reader :headers

    def initialize(url = "https://api.test", headers: {})
      @url = url
      @headers = headers
    end

    %w[get post put patch delete].each do |name|
      define_method(name) do |path = "/", *_, for_s: 0.1, **|
        ObservedCode.wait("http", for_s, "Faraday::Connection##{name}", what: "10.0.0.9:443")
        Response.new(200, { "id" => 7, "path" => path, "token" => "t", "next" => "n" }, {})
      end
    end
  end

  # Net::HTTP: a request says what it is.
  class NetHTTP
    Get = Struct.new(:path)
    Post = Struct.new(:path)

    def request(asked, for_s: 0.1)
      ObservedCode.wait("http", for_s, "Net::HTTP#request", what: "10.0.0.9:443")
      "answer to #{asked.path}"
    end
  end

  # RestClient: the method is an option.
  module RestClient
    def self.execute(method:, url:, for_s: 0.1)
      ObservedCode.wait("http", for_s, "RestClient::Request.execute", what: "10.0.0.9:443")
      "#{method} #{url}"
    end
  end

  # Objects in a store.
  class S3
    %w[get_object put_object copy_object delete_object head_object list_objects_v2].each do |name|
      define_method(name) do |for_s: 0.08, **|
        ObservedCode.wait("http", for_s, "Aws::S3::Client##{name}", what: "10.0.0.4:443")
        { key: "k", body: "b" }
      end
    end
  end

  # A document database.
  class Mongo
    %w[find count_documents aggregate distinct insert_one update_one delete_many
       find_one_and_update].each do |name|
      define_method(name) do |*_, for_s: 0.04, **|
        ObservedCode.wait("database", for_s, "Mongo::Collection##{name}",
                          what: "mongo 10.0.0.6:27017")
        [{ "id" => 1 }]
      end
    end
  end

  # A search engine.
  class Search
    %w[search index bulk refresh count].each do |name|
      define_method(name) do |for_s: 0.06, **|
        ObservedCode.wait("http", for_s, "Elasticsearch::API::Actions##{name}",
                          what: "10.0.0.2:9200")
        { "hits" => [1, 2] }
      end
    end
  end

  # A client of any service: its methods are those of the gem it is named after.
  class Sdk
    def initialize(gem_class)
      @gem_class = gem_class
    end

    def respond_to_missing?(*)
      true
    end

    def method_missing(name, *_, for_s: 0.1, **)
      ObservedCode.wait("http", for_s, "#{@gem_class}##{name}", what: "10.0.0.9:443")
      { "id" => 7, "name" => name.to_s }
    end
  end

  # A client whose one call waits several times: the name, the connection, the body's pieces.
  module Web
    def self.get(path, pieces: 2, for_s: 0.05)
      ObservedCode.wait("dns", 0.01, "Web.get", what: "api.test")
      pieces.times do |at|
        inside = at.zero? ? "Web.read_head" : "Web.read_body"
        ObservedCode.wait("http", for_s, "Web.get", what: "10.0.0.9:443", inside: inside)
      end
      "answer to #{path}"
    end
  end

  # redis-client: the command is an argument.
  class RedisClient
    def call(command, *rest, for_s: 0.02)
      ObservedCode.wait("database", for_s, "RedisClient#call", what: "redis 10.0.0.7:6379")
      "#{command} #{rest.first}"
    end
  end

  # Sequel: a dataset of a table.
  class Sequel
    def initialize(table = nil)
      @table = table
    end

    def [](table)
      self.class.new(table)
    end

    %w[first all count max insert update delete].each do |name|
      define_method(name) do |*_, for_s: 0.05, **|
        ObservedCode.wait("database", for_s, "Sequel::Dataset##{name}", what: "pg 10.0.0.5:5432")
        name == "all" ? [{ id: 1 }] : 1
      end
    end

    def transaction
      yield
    end
  end

  # What fibers and threads wait for between each other.
  class Waiting
    { lock: ["lock", "Thread::Mutex#lock"], pop: ["queue", "Thread::Queue#pop"],
      join: ["thread", "Thread#join"], wait: ["condition", "Thread::ConditionVariable#wait"],
      system: ["process", "Kernel#system"], write: ["client", "Rack::Stream#write"],
      read: ["client_body", "Rack::Input#read"] }
      .each do |name, (kind, method)|
      define_method(name) do |*, for_s: 0.1|
        ObservedCode.wait(kind, for_s, method)
        true
      end
    end

    def synchronize
      lock
      yield
    end
  end

  # A command whose output is read.
  class Command
    def self.popen(command)
      new(command)
    end

    def initialize(command)
      @command = command
    end

    def read(for_s: 0.1)
      ObservedCode.wait("io", for_s, "IO#read")
      "said by #{@command}"
    end
  end

  # A pool of connections: a turn at it is waited for.
  class Pool
    def initialize(&made)
      @made = made
    end

    def with(for_s: 0.01)
      ObservedCode.wait("pool", for_s, "ConnectionPool#with")
      yield @made.call
    end
  end

  # Redis: keeps what is set.
  class Redis
    def initialize
      @values = {}
    end

    def get(key, for_s: 0.02)
      told("get", for_s) { @values[key] }
    end

    def hgetall(_key, for_s: 0.02)
      told("hgetall", for_s) { { "plan" => "pro" } }
    end

    def set(key, value, for_s: 0.02, **)
      told("set", for_s) { @values[key] = value }
    end

    def setex(key, _ttl_s, value, for_s: 0.02)
      told("setex", for_s) { @values[key] = value }
    end

    def incr(key, for_s: 0.02)
      told("incr", for_s) { @values[key] = @values.fetch(key, 0) + 1 }
    end

    def del(key, for_s: 0.02)
      told("del", for_s) { @values.delete(key) }
    end

    def lpop(key, for_s: 0.02)
      told("lpop", for_s) { @values.fetch(key, []).shift }
    end

    def rpush(key, value, for_s: 0.02)
      told("rpush", for_s) { (@values[key] ||= []).push(value).size }
    end

    %w[select watch multi exec zadd publish getdel eval].each do |name|
      define_method(name) { |*_, for_s: 0.02| told(name, for_s) { "1" } }
    end

    %w[smembers zrange].each do |name|
      define_method(name) { |*_, for_s: 0.02| told(name, for_s) { %w[a b c] } }
    end

    private

    def told(name, for_s)
      ObservedCode.wait("database", for_s, "Redis##{name}", what: "redis 10.0.0.7:6379")
      yield
    end
  end

  # ActiveSupport's cache: a miss yields.
  class Cache
    def initialize(values = {})
      @values = values
    end

    def read(key, for_s: 0.02)
      told("read", for_s) { @values[key] }
    end

    def write(key, value, for_s: 0.02, **)
      told("write", for_s) { @values[key] = value }
    end

    def delete(key, for_s: 0.02)
      told("delete", for_s) { @values.delete(key) }
    end

    def fetch(key, for_s: 0.02, **)
      told("fetch", for_s) { nil }
      @values[key] ||= yield
    end

    private

    def told(name, for_s)
      ObservedCode.wait("database", for_s, "ActiveSupport::Cache::Store##{name}",
                        what: "memcached 10.0.0.8:11211")
      yield
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
      %w[find find_by find_by! first last count all where pluck create create! update_all
         delete_all find_by_sql exists? find_or_create_by sum maximum insert_all upsert destroy_all
         increment_counter].each do |name|
        define_method(name) do |*_, for_s: 0.05, **|
          ObservedCode.wait("database", for_s, "ActiveRecord::Querying##{name}")
          next 6 if %w[count sum maximum].include?(name)

          %w[all where pluck find_by_sql].include?(name) ? Array.new(6) { |at| new(at) } : new
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

    %w[save! update update! destroy reload lock! touch increment!].each do |name|
      define_method(name) do |*_, for_s: 0.05, **|
        ObservedCode.wait("database", for_s, "ActiveRecord::Persistence##{name}")
        self
      end
    end

    def with_lock
      lock!
      yield
    end

    # Rows of another table.
    def items(for_s: 0.05)
      ObservedCode.wait("database", for_s, "ActiveRecord::Associations#reader")
      Array.new(6) { |at| Model.new(at) }
    end

    # A row of another table.
    def owner(for_s: 0.05)
      ObservedCode.wait("database", for_s, "ActiveRecord::Associations#reader")
      Model.new
    end
  end

  # Calls the application inside of its transaction, as ActiveRecord calls callbacks.
  class Record
    class_eval(<<~RUBY, GEM, 1)
      def save
        within_new_transaction { before_save }
      end

      def within_new_transaction
        yield
      end
    RUBY
  end

  # Rows that are asked for when they are first used.
  class Relation
    include Enumerable

    def initialize(**filters)
      @filters = filters
    end

    def where(**filters)
      self.class.new(**@filters, **filters)
    end

    def each(&)
      to_a.each(&)
    end

    def size
      to_a.size
    end

    def to_a
      @rows ||= begin
        ObservedCode.wait("database", 0.05, "ActiveRecord::Relation#load")
        Array.new(6) { |at| Model.new(at) }
      end
    end
  end

  # A connection of a driver: told by SQL.
  class Connection
    %w[exec exec_params exec_prepared query].each do |name|
      define_method(name) do |_sql, *_, for_s: 0.05|
        ObservedCode.wait("database", for_s, "PG::Connection##{name}", what: "pg 10.0.0.5:5432")
        [{ "id" => 1 }]
      end
    end
  end

  # A socket on which lines go to and fro.
  class Socket
    def gets(for_s: 0.03)
      ObservedCode.wait("io", for_s, "IO#gets", what: "10.0.0.3:110")
      "+OK"
    end

    def write(text, for_s: 0.01)
      ObservedCode.wait("io", for_s, "IO#write", what: "10.0.0.3:110")
      text.bytesize
    end
  end

  module Shell
    def self.sleep(for_s = 0.1)
      ObservedCode.wait("sleep", for_s, "Kernel#sleep")
    end
  end
end
