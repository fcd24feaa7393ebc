# frozen_string_literal: true

require_relative "../support/library"

# The three against local endpoints (services/aws.rb), which do not look at signatures.
module AwsCalls
  FIBERS = 1000

  def options(**more)
    { region: "us-east-1", endpoint: url("", host: "localhost"),
      credentials: Aws::Credentials.new("key", "secret"), retry_limit: 0, http_open_timeout: 20,
      http_read_timeout: 30, **more }
  end

  def timeout_and_refused(&request)
    stalled = options(endpoint: "http://127.0.0.1:#{port(:stall)}", http_read_timeout: 0.4)
    refused = options(endpoint: "http://localhost:#{port(:refused)}")
    first = while_ticking { raises(Seahorse::Client::NetworkingError) { request.call(stalled) } }
    second = raises(Seahorse::Client::NetworkingError) { request.call(refused) }
    [first, second].map { |error| error.original_error.class.name }.join(", ")
  end
end

Clients.library("aws-sdk-s3", AwsCalls) do
  requires "aws-sdk-s3"
  note "local endpoint"

  define(:client) { |**more| Aws::S3::Client.new(**options(force_path_style: true, **more)) }

  check(:thousand, "1000 get_object inside at once, by name, one client") do
    s3 = client
    each_its_own(AwsCalls::FIBERS) do |mine|
      s3.get_object(bucket: "bucket", key: "gate/s3/#{AwsCalls::FIBERS}/#{mine}").body.read
    end
  end
  check(:objects, "50 fibers put, get and list their objects; NoSuchKey") do
    s3 = client
    each_its_own(50) do |mine|
      s3.put_object(bucket: "bucket", key: mine, body: mine)
      hold(s3.list_objects_v2(bucket: "bucket").contents.any? { |object| object.key == mine },
           "not listed")
      s3.get_object(bucket: "bucket", key: mine).body.read
    end
    raises(Aws::S3::Errors::NoSuchKey) { s3.get_object(bucket: "bucket", key: "none") }.class.name
  end
  check(:tls, "20 with TLS, certificate verified") do
    s3 = client(endpoint: url("", host: "localhost", tls: true), ssl_ca_bundle: ca_file)
    each_its_own(20) do |mine|
      s3.put_object(bucket: "bucket", key: "tls/#{mine}", body: mine)
      s3.get_object(bucket: "bucket", key: "tls/#{mine}").body.read
    end
  end
  check(:timeout, "its own error for a timeout, while others go on, and for a closed port") do
    timeout_and_refused do |at|
      Aws::S3::Client.new(**at, force_path_style: true).get_object(bucket: "bucket", key: "a")
    end
  end
end

Clients.library("aws-sdk-sqs", AwsCalls) do
  requires "aws-sdk-sqs"
  note "local endpoint"

  define(:client) { |**more| Aws::SQS::Client.new(**options(**more)) }

  check(:thousand, "1000 send_message inside at once, by name, one client") do
    sqs = client
    queue = url("/queue", host: "localhost")
    each_its_own(AwsCalls::FIBERS) do |mine|
      sqs.send_message(queue_url: queue,
                       message_body: "gate/sqs/#{AwsCalls::FIBERS}/#{mine}").message_id
    end
  end
  check(:polls, "1000 long polls wait at once, each is given its queue's message") do
    sqs = client
    asked = 0
    Fiber.schedule do
      eventually("1000 polls") { asked == AwsCalls::FIBERS }
      AwsCalls::FIBERS.times do |index|
        sqs.send_message(queue_url: url("/q#{index}"), message_body: "for #{index}")
      end
    end
    fibers(AwsCalls::FIBERS) do |index|
      asked += 1
      same("for #{index}", sqs.receive_message(queue_url: url("/q#{index}"),
                                               wait_time_seconds: 20).messages.first.body)
    end
    "1000 fibers"
  end
  check(:timeout, "its own error for a timeout, while others go on, and for a closed port") do
    timeout_and_refused do |at|
      Aws::SQS::Client.new(**at).send_message(queue_url: at[:endpoint], message_body: "a")
    end
  end
end

Clients.library("aws-sdk-dynamodb", AwsCalls) do
  requires "aws-sdk-dynamodb"
  note "local endpoint"

  define(:client) { |**more| Aws::DynamoDB::Client.new(**options(**more)) }

  check(:thousand, "1000 get_item inside at once, by name, one client") do
    dynamo = client
    each_its_own(AwsCalls::FIBERS) do |mine|
      dynamo.get_item(table_name: "t", key: { "id" => "gate/dynamo/#{AwsCalls::FIBERS}/#{mine}" })
            .item.fetch("value")
    end
  end
  check(:items, "50 fibers put and get their items") do
    dynamo = client
    each_its_own(50) do |mine|
      dynamo.put_item(table_name: "t", item: { "id" => mine, "value" => mine })
      dynamo.get_item(table_name: "t", key: { "id" => mine }).item.fetch("value")
    end
  end
  check(:timeout, "its own error for a timeout, while others go on, and for a closed port") do
    timeout_and_refused do |at|
      Aws::DynamoDB::Client.new(**at).get_item(table_name: "t", key: { "id" => "a" })
    end
  end
end
