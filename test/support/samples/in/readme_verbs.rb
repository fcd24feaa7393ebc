# frozen_string_literal: true

# What the sample of README.md calls, but for what the sample requires itself: a program of a new
# user has nothing else.

require "page_server"
require "stringio"

API = Object.new
def API.user(number) = "user #{number}"
def API.orders(number) = ["order of #{number}"]
def API.call = sleep(0)
def api = API
def slow_service = API

# A fiber's exception is told there and ends nobody else.
TOLD = $stderr = StringIO.new
# SAMPLE
$stderr = STDERR
abort("a fiber has failed: #{TOLD.string}") unless TOLD.string.empty?
