# frozen_string_literal: true

require_relative "../services"

module OnThreads
  # A database for each server, so that none sees rows of another's. A pool has two connections for
  # each of the 16 clients: a program may have one and wait for a thread that takes one more.
  module Databases
    def self.url
      @number = @number.to_i + 1
      address = Services.postgresql.url
      sql(address, "create database hunt_#{@number}")
      address = address.sub(%r{/postgres(?=\?|\z)}, "/hunt_#{@number}")
      sql(address, "create table hunt_rows (id bigserial primary key, token text)")
      "#{address}#{address.include?("?") ? "&" : "?"}pool=36&checkout_timeout=20"
    end

    def self.sql(address, text)
      system("psql", "-q", "-d", address, "-c", text, exception: true)
    end
  end
end
