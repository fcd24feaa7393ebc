# frozen_string_literal: true

require_relative "../watch_case"
require "neverblock/watch/advice/uses"
require "neverblock/watch/advice/words"

# Names of libraries' methods, and which of them are believed to read.
class AdviceWordsTest < WatchCase
  READ = %w[
    Stripe::Charge.retrieve Aws::EC2::Client#describe_instances Redis#mget Redis#mapped_mget
    Redis#zrangebyscore Redis#exists? Redis#scan_each ActiveRecord::Relation#load
    ActiveRecord::Relation#empty? ActiveRecord::Querying#find_by_name_and_email Net::HTTP.get
    Net::HTTP.start OpenURI.open_uri Kernel#open TCPSocket.open TCPServer#accept
    Sequel::Dataset#with_sql_first Mongo::Collection#count_documents Typhoeus::Request#run
    ActiveRecord::Querying#find_by!
  ].freeze
  ACT = %w[
    Stripe::PaymentIntent#capture Pay::Client#capture_order Pay::Client#request_refund
    Aws::EC2::Client#start_instances Aws::EC2::Client#run_instances Docker::Container#start
    Docker::Container#run BigQuery::Dataset#load BigQuery::Dataset#load_job Drive::Client#empty
    Drive::Client#empty_trash Redis#sunionstore Redis#zrangestore Redis#sort Redis#mapped_mset
    Redis#select Redis#getset Redis#exec Net::IMAP#select Kernel#system Kernel#spawn Kernel#`
    IO.popen Open3.capture2 Github::Client#open Github::Client#open_ticket Pager::Client#accept
    Pager::Client#accept_invitation Pager::Client#resolve Slack::Client#join_channel
    Sequel::Dataset#with_sql_delete Store#find_and_remove Store#get_or_set Store#call_webhook
    RedisClient#call Net::HTTP#request PG::Connection#exec GraphQL::Client#query
  ].freeze

  def test_what_reads
    READ.each { |call| assert(Advice::Words.read_call?(call), call) }
  end

  def test_what_acts_or_is_told_by_its_arguments
    ACT.each { |call| refute(Advice::Words.read_call?(call), call) }
  end

  # A class opens a connection in each call; an object in a constant has one.
  def test_which_constants_hold_an_object
    held = { "REDIS.get(1)" => "REDIS", "Api::CLIENT.pages.get(1)" => "Api::CLIENT",
             "Net::HTTP.get(uri)" => nil, "HTTP.get(uri)" => nil, "User.find(1)" => nil,
             "client.get(1)" => nil }
    found = held.to_h do |code, _|
      call = Prism.parse(code).value.statements.body.first
      [code, NeverBlock::Watch::Advice::Uses.object(call.receiver)]
    end
    assert_equal held, found
  end
end
