# frozen_string_literal: true

# Calls that write, and whose values are kept.
AdviceCases::DEPENDENT.add do
  case_of "a payment is captured, its value kept", source: <<~'RUBY'
    def show
      client = Sdk.new("Stripe::PaymentIntent")
      made = client.capture("pi_1")
      found = client.retrieve("pi_1")
      [made, found]
    end
  RUBY

  case_of "instances are started", source: <<~'RUBY'
    def show
      client = Sdk.new("Aws::EC2::Client")
      made = client.start_instances(instance_ids: ["i"])
      found = client.describe_instances(instance_ids: ["i"])
      [made, found]
    end
  RUBY

  case_of "instances are run", source: <<~'RUBY'
    def show
      client = Sdk.new("Aws::EC2::Client")
      made = client.run_instances(count: 1)
      found = client.describe_instances
      [made, found]
    end
  RUBY

  case_of "a set is stored", source: <<~'RUBY'
    def show
      client = Sdk.new("Redis::Commands::Sets")
      made = client.sunionstore("all", "a", "b")
      found = client.smembers("all")
      [made, found]
    end
  RUBY

  case_of "a sorted list is stored", source: <<~'RUBY'
    def show
      client = Sdk.new("Redis::Commands::Lists")
      made = client.sort("queue", store: "sorted")
      found = client.lrange("sorted", 0, -1)
      [made, found]
    end
  RUBY

  case_of "several keys are set", source: <<~'RUBY'
    def show
      client = Sdk.new("Redis::Commands::Strings")
      made = client.mapped_mset({ "a" => 1 })
      found = client.mapped_mget("a")
      [made, found]
    end
  RUBY

  case_of "a refund is requested", source: <<~'RUBY'
    def show
      client = Sdk.new("Pay::Client")
      made = client.request_refund("x")
      found = client.retrieve("x")
      [made, found]
    end
  RUBY

  case_of "an order is captured", source: <<~'RUBY'
    def show
      client = Sdk.new("PayPal::Client")
      made = client.capture_order("x")
      found = client.show_order("x")
      [made, found]
    end
  RUBY

  case_of "a query is started", source: <<~'RUBY'
    def show
      client = Sdk.new("Aws::Athena::Client")
      made = client.start_query_execution(query: "x")
      found = client.list_query_executions
      [made, found]
    end
  RUBY

  case_of "a job is started", source: <<~'RUBY'
    def show
      client = Sdk.new("Aws::Glue::Client")
      made = client.start_job_run(job_name: "x")
      found = client.get_job_runs(job_name: "x")
      [made, found]
    end
  RUBY

  case_of "a trash is emptied", source: <<~'RUBY'
    def show
      client = Sdk.new("Drive::Client")
      made = client.empty_trash
      found = client.list_trash
      [made, found]
    end
  RUBY

  case_of "a table is loaded", source: <<~'RUBY'
    def show
      client = Sdk.new("BigQuery::Dataset")
      made = client.load_job("t", "f.csv")
      found = client.query_job("t")
      [made, found]
    end
  RUBY

  case_of "a file is loaded into a table", source: <<~'RUBY'
    def show
      client = Sdk.new("BigQuery::Dataset")
      made = client.load("t", "f.csv")
      found = client.query_job("t")
      [made, found]
    end
  RUBY

  case_of "a container is started", source: <<~'RUBY'
    def show
      client = Sdk.new("Docker::Container")
      made = client.start
      found = client.info
      [made, found]
    end
  RUBY

  case_of "a program is run", source: <<~'RUBY'
    def show
      client = Sdk.new("Docker::Container")
      made = client.run("make")
      found = client.info
      [made, found]
    end
  RUBY

  case_of "an issue is opened", source: <<~'RUBY'
    def show
      client = Sdk.new("Github::Client")
      made = client.open("title")
      found = client.list
      [made, found]
    end
  RUBY

  case_of "an incident is accepted", source: <<~'RUBY'
    def show
      client = Sdk.new("Pager::Client")
      made = client.accept("7")
      found = client.get("7")
      [made, found]
    end
  RUBY

  case_of "a change of GraphQL", source: <<~'RUBY'
    def show
      client = Sdk.new("Storefront::Client")
      made = client.query("mutation { createUser(name: 1) { id } }")
      found = client.query("query { users { id } }")
      [made, found]
    end
  RUBY

  case_of "a change of GraphQL after a fragment", source: <<~'RUBY'
    def show
      client = Sdk.new("Storefront::Client")
      made = client.query("fragment F on U { id } mutation { add { ...F } }")
      found = client.query("{ users { id } }")
      [made, found]
    end
  RUBY

  case_of "a document of GraphQL that is elsewhere", source: <<~'RUBY'
    def show
      client = Sdk.new("GraphQL::Client")
      made = client.query(ENV["ADD_USER"])
      found = client.query("{ users { id } }")
      [made, found]
    end
  RUBY

  case_of "a verb that is not known", source: <<~'RUBY'
    def show
      client = Sdk.new("Excon::Connection")
      made = client.request(method: ENV["VERB"], path: "/a")
      found = client.request(method: :get, path: "/b")
      [made, found]
    end
  RUBY

  case_of "what is found is removed", source: <<~'RUBY'
    def show
      client = Sdk.new("Store::Client")
      made = client.find_and_remove("a")
      found = client.find("a")
      [made, found]
    end
  RUBY

  case_of "SELECT INTO, its value kept", source: <<~'RUBY'
    def show
      db = Connection.new
      made = db.exec_params("SELECT * INTO kept FROM rows", [1])
      found = db.exec_params("SELECT count(*) FROM kept", [])
      [made, found]
    end
  RUBY

  case_of "a function of the application's in SQL", source: <<~'RUBY'
    def show
      db = Connection.new
      made = db.exec_params("SELECT reserve_seat($1)", [1])
      found = db.exec_params("SELECT count(*) FROM seats", [])
      [made, found]
    end
  RUBY

  case_of "a function of the application's after FROM", source: <<~'RUBY'
    def show
      db = Connection.new
      made = db.exec_params("SELECT * FROM app.take_job(1)", [1])
      found = db.exec_params("SELECT count(*) FROM jobs", [])
      [made, found]
    end
  RUBY

  case_of "a function of the application's by a quoted name", source: <<~'RUBY'
    def show
      db = Connection.new
      made = db.exec_params("SELECT \"take\"(1)", [1])
      found = db.exec_params("SELECT count(*) FROM jobs", [])
      [made, found]
    end
  RUBY

  case_of "a notification by SELECT", source: <<~'RUBY'
    def show
      db = Connection.new
      made = db.exec_params("SELECT pg_notify('x', 'y')", [1])
      found = db.exec_params("SELECT 1", [])
      [made, found]
    end
  RUBY

  case_of "an advisory lock by SELECT", source: <<~'RUBY'
    def show
      db = Connection.new
      made = db.exec_params("SELECT pg_try_advisory_lock(42)", [1])
      found = db.exec_params("SELECT max(number) FROM invoices", [])
      [made, found]
    end
  RUBY

  case_of "a variable of MySQL", source: <<~'RUBY'
    def show
      db = Connection.new
      made = db.exec_params("SELECT @n := @n + 1", [1])
      found = db.exec_params("SELECT @n", [])
      [made, found]
    end
  RUBY

  case_of "a large object", source: <<~'RUBY'
    def show
      db = Connection.new
      made = db.exec_params("SELECT lo_create(0)", [1])
      found = db.exec_params("SELECT 1", [])
      [made, found]
    end
  RUBY

  case_of "a number that the connection keeps", source: <<~'RUBY'
    def show
      db = Connection.new
      made = db.exec_params("SELECT currval('s')", [1])
      found = db.exec_params("SELECT 1", [])
      [made, found]
    end
  RUBY

  case_of "a second statement in the text", source: <<~'RUBY'
    def show
      db = Connection.new
      made = db.exec_params("SELECT 1; CALL refresh()", [1])
      found = db.exec_params("SELECT 2", [])
      [made, found]
    end
  RUBY

  case_of "WITH that updates", source: <<~'RUBY'
    def show
      db = Connection.new
      made = db.exec_params("WITH x AS (UPDATE ONLY t SET a = 1) SELECT 1", [1])
      found = db.exec_params("SELECT count(*) FROM t", [])
      [made, found]
    end
  RUBY

  case_of "a function whose name is put in", source: <<~'RUBY'
    def show
      db = Connection.new
      made = db.exec_params("SELECT #{ENV["F"]}(1)", [1])
      found = db.exec_params("SELECT count(*) FROM t", [])
      [made, found]
    end
  RUBY

  case_of "two commands", source: <<~'RUBY'
    def show
      shell = Waiting.new
      pulled = shell.system("git pull")
      built = shell.system("make")
      [pulled, built]
    end
  RUBY

  case_of "a command, and what it makes", source: <<~'RUBY'
    def show
      dumped = Waiting.new.system("pg_dump -f /tmp/x")
      sent = HTTP.get("/upload?file=/tmp/x")
      [dumped, sent]
    end
  RUBY

  case_of "what a command says is read", source: <<~'RUBY'
    def show
      pulled = Command.popen("git pull").read
      built = Command.popen("make").read
      [pulled, built]
    end
  RUBY

  case_of "a command of RedisClient's is not known", source: <<~'RUBY'
    def show
      redis = RedisClient.new
      command = %w[a b].first
      made = redis.call(command, "k")
      found = redis.call("GET", "k")
      [made, found]
    end
  RUBY

  case_of "a request's verb is set before", source: <<~'RUBY'
    def show
      http = NetHTTP.new
      order = NetHTTP::Post.new("/orders")
      made = http.request(order)
      list = http.request(NetHTTP::Get.new("/orders"))
      [made, list]
    end
  RUBY
end
