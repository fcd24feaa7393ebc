# frozen_string_literal: true

# The part of S3 (REST, XML), SQS and DynamoDB (AWS JSON 1.0 by X-Amz-Target) that libraries/aws*.rb
# calls. Signatures are not checked. The digests that the libraries verify are right.
# A key or a body "gate/<name>/<size>/<token>" waits at that gate. Reading such a key gives the
# token.

require "digest"
require "json"
require "securerandom"

module ClientServices
  class Aws
    XML = "http://s3.amazonaws.com/doc/2006-03-01/"

    # @param gates [Gates]
    def initialize(gates)
      @gates = gates
      @lock = Mutex.new
      @objects = {}
      @items = {}
      @messages = Hash.new { |queues, url| queues[url] = Thread::Queue.new }
    end

    # @return [Boolean] whether the request is for one of these
    def mine?(request)
      request.headers.key?("x-amz-target") || request.path.start_with?("/bucket")
    end

    # @return [Array(Integer, Hash, String)] status, headers, body
    def answer(request)
      target = request.headers["x-amz-target"]
      return s3(request) unless target

      operation = target.split(".").last
      reply = send(:"json_#{operation}", JSON.parse(request.body))
      [200,
       { "content-type" => "application/x-amz-json-1.0", "x-amzn-requestid" => SecureRandom.uuid },
       JSON.generate(reply)]
    end

    private

    # @return [String, nil] the token, when all were inside at once
    def wait(text)
      _, name, size, token = text.match(%r{\Agate/(\w+)/(\d+)/(.+)\z}).to_a
      return unless name

      most = @gates.pass(name, Integer(size, 10))
      most >= Integer(size, 10) ? token : "#{most} of #{size} requests were inside at once"
    end

    def s3(request)
      key = request.path.delete_prefix("/bucket").delete_prefix("/").split("?").first.to_s
      return s3_list if key.empty?
      return s3_put(key, request) if request.verb == "PUT"

      object = wait(key) || @lock.synchronize { @objects[key] }
      return s3_missing(key) unless object

      [200, { "content-type" => "binary/octet-stream", "etag" => etag(object) }, object]
    end

    def s3_put(key, request)
      @lock.synchronize { @objects[key] = request.body }
      [200, { "etag" => etag(request.body) }, ""]
    end

    def s3_list
      keys = @lock.synchronize { @objects.keys }
      contents = keys.map { |key| "<Contents><Key>#{key}</Key><Size>1</Size></Contents>" }.join
      xml(200, "<ListBucketResult xmlns=\"#{XML}\"><Name>bucket</Name>" \
               "<KeyCount>#{keys.size}</KeyCount><IsTruncated>false</IsTruncated>" \
               "#{contents}</ListBucketResult>")
    end

    def s3_missing(key)
      xml(404, "<Error><Code>NoSuchKey</Code>" \
               "<Message>The specified key does not exist.</Message><Key>#{key}</Key></Error>")
    end

    def xml(status, text)
      [status, { "content-type" => "application/xml" },
       "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n#{text}"]
    end

    def etag(body)
      "\"#{Digest::MD5.hexdigest(body)}\""
    end

    def json_SendMessage(input) # rubocop:disable Naming/MethodName -- the service's name for it
      body = input.fetch("MessageBody")
      said = wait(body)
      @lock.synchronize { @messages[input.fetch("QueueUrl")] }.push(body)
      { "MessageId" => said || SecureRandom.uuid,
        "MD5OfMessageBody" => Digest::MD5.hexdigest(body) }
    end

    # A long poll: keeps the client for as long as there is no message.
    def json_ReceiveMessage(input) # rubocop:disable Naming/MethodName
      queue = @lock.synchronize { @messages[input.fetch("QueueUrl")] }
      body = queue.pop
      { "Messages" => [{ "MessageId" => SecureRandom.uuid, "ReceiptHandle" => "r", "Body" => body,
                         "MD5OfBody" => Digest::MD5.hexdigest(body) }] }
    end

    def json_PutItem(input) # rubocop:disable Naming/MethodName
      item = input.fetch("Item")
      @lock.synchronize { @items[item.fetch("id").fetch("S")] = item }
      {}
    end

    def json_GetItem(input) # rubocop:disable Naming/MethodName
      id = input.fetch("Key").fetch("id").fetch("S")
      said = wait(id)
      item = if said
               { "id" => { "S" => id }, "value" => { "S" => said } }
             else
               @lock.synchronize { @items[id] }
             end
      { "Item" => item }.compact
    end
  end
end
