# frozen_string_literal: true

# What the samples of docs/guides/verbs.md call: an API, pages on a server of this process, a slow
# service.

require "bcrypt"
require "digest"
require "net/http"
require "page_server"

def url = PAGE
def id = 7
def secret = "secret"
def legacy_code_that_must_not_be_interleaved = sleep(0)

API = Object.new
def API.watch = Queue.new.pop
def API.user(number) = "user #{number}"
def API.orders(number) = ["order of #{number}"]
def API.call(timeout: nil) = sleep(0) && timeout
def api = API
def slow_service = API
Cancelled = Class.new(StandardError)
def fetch(url) = Net::HTTP.get(URI(url))

Tracker = Struct.new(:seen) { def notify(error) = (seen << error) }
TRACKER = Tracker.new([])
def tracker = TRACKER

module PG
  # Stands for a connection of the gem pg.
  def self.connect(dbname:)
    Object.new.tap { |one| one.define_singleton_method(:exec) { |sql| [dbname, sql] } }
  end
end

ran = false
NB.run do
  # SAMPLE
  ran = true
end
abort("the pool told of #{TRACKER.seen}") unless TRACKER.seen.map(&:class) - [Cancelled] == []
abort("the sample has not come to its end") unless ran
