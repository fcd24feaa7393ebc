# frozen_string_literal: true

# Calls that read, by their names or by what they are given.
AdviceCases::INDEPENDENT.add do
  case_of "queries of GraphQL", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    def show
      client = Sdk.new("GraphQL::Client")
      a = client.query("query { users { id } }")
      b = client.query("{ orders { id } }")
      [a, b]
    end
  RUBY

  case_of "names of several words", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    def show
      client = Sdk.new("Aws::EC2::Client")
      a = client.describe_instances
      b = client.list_buckets_v2
      [a, b]
    end
  RUBY

  case_of "a question", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    def show
      client = Sdk.new("Redis::Commands::Keys")
      a = client.exists?("a")
      b = client.ttl("b")
      [a, b]
    end
  RUBY

  case_of "ranges by score", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    def show
      client = Sdk.new("Redis::Commands::SortedSets")
      a = client.zrangebyscore("a", 1, 2)
      b = client.zcount("b", 1, 2)
      [a, b]
    end
  RUBY

  case_of "several keys are got", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    def show
      client = Sdk.new("Redis::Commands::Strings")
      a = client.mapped_mget("a", "b")
      b = client.strlen("c")
      [a, b]
    end
  RUBY

  case_of "requests of Excon's that get", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    def show
      client = Sdk.new("Excon::Connection")
      a = client.request(method: :get, path: "/a")
      b = client.request(method: "HEAD", path: "/b")
      [a, b]
    end
  RUBY

  case_of "requests of Typhoeus's", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    def show
      client = Sdk.new("Typhoeus::Request")
      a = client.run
      b = client.run(method: :get)
      [a, b]
    end
  RUBY

  case_of "rows by a finder of two columns", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    def show
      client = Sdk.new("Model::Finders")
      a = client.find_by_name_and_email("a", "b")
      b = client.first_or_initialize
      [a, b]
    end
  RUBY

  case_of "a page is opened", lines: [3, 4], saves: 0.1, source: <<~'RUBY'
    def show
      client = Sdk.new("OpenURI")
      a = client.open_uri("https://a.test")
      b = client.open_uri("https://b.test")
      [a, b]
    end
  RUBY

  case_of "known functions of SQL", lines: [3, 4], saves: 0.05, source: <<~'RUBY'
    def show
      db = Connection.new
      a = db.exec("SELECT date_trunc('day', at), count(*) FROM visits GROUP BY 1")
      b = db.exec("SELECT coalesce(sum(paid), 0) FROM orders WHERE id IN (1, 2)")
      [a, b]
    end
  RUBY

  case_of "WITH with columns", lines: [3, 4], saves: 0.05, source: <<~'RUBY'
    def show
      db = Connection.new
      a = db.exec("WITH x (a) AS (SELECT 1) SELECT * FROM x")
      b = db.exec("SELECT row_number() OVER (PARTITION BY a ORDER BY b) FROM t")
      [a, b]
    end
  RUBY

  case_of "words of writing in literals", lines: [3, 4], saves: 0.05, source: <<~'RUBY'
    def show
      db = Connection.new
      a = db.exec("SELECT 'into (take(1))' AS text")
      b = db.exec("SELECT 1 -- calls f(x)")
      [a, b]
    end
  RUBY

  case_of "types with a length", lines: [3, 4], saves: 0.05, source: <<~'RUBY'
    def show
      db = Connection.new
      a = db.exec("SELECT price::numeric(10, 2) FROM t")
      b = db.exec("SELECT CAST(name AS varchar(20)) FROM u")
      [a, b]
    end
  RUBY

  case_of "commands of RedisClient's that read", lines: [3, 4], saves: 0.02, source: <<~'RUBY'
    def show
      redis = RedisClient.new
      a = redis.call("GET", "a")
      b = redis.call("HGETALL", "b")
      [a, b]
    end
  RUBY

  case_of "a request that is made before", lines: [5, 6], saves: 0.1, source: <<~'RUBY'
    def show
      http = NetHTTP.new
      orders = NetHTTP::Get.new("/orders")
      rates = NetHTTP::Get.new("/rates")
      a = http.request(orders)
      b = http.request(rates)
      [a, b]
    end
  RUBY
end
