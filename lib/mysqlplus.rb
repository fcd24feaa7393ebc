# frozen_string_literal: true

# mysqlplus of 2008 for today: the class Mysql with asynchronous queries, on mysql2, so that scripts
# written for it run. Its asynchronous calls are for any loop that waits for `socket`. In
# NeverBlock's loop plain `query` lets other fibers run as well. Values are Strings or nil, as they
# were. docs/guides/mysql.md.
#
#   connection = Mysql.real_connect("localhost", "root", nil, "shop")
#   connection.send_query("select sleep(1)")
#   IO.select([IO.for_fd(connection.socket, autoclose: false)])
#   connection.get_result.each { |row| p row }

require "mysql2"

# A connection to a MySQL or MariaDB server.
class Mysql
  # What the server or the connection refused.
  class Error < StandardError
    # @return [Integer, nil]
    attr_reader :errno
    # @return [String, nil]
    attr_reader :sqlstate

    alias error message

    def initialize(message = nil, errno = nil, sqlstate = nil)
      super(message)
      @errno = errno
      @sqlstate = sqlstate
    end

    # Calls the block; an error of mysql2 becomes one of these.
    def self.from_mysql2
      yield
    rescue Mysql2::Error => e
      raise new(e.message, e.error_number, e.sql_state)
    end
  end

  CLIENT_MULTI_STATEMENTS = CLIENT_MULTI_RESULTS = Mysql2::Client::MULTI_STATEMENTS
  CLIENT_FOUND_ROWS = Mysql2::Client::FOUND_ROWS
  CLIENT_COMPRESS = Mysql2::Client::COMPRESS
  OPTION_MULTI_STATEMENTS_ON = Mysql2::Client::OPTION_MULTI_STATEMENTS_ON
  OPTION_MULTI_STATEMENTS_OFF = Mysql2::Client::OPTION_MULTI_STATEMENTS_OFF

  QUERY_OPTIONS = { as: :array, cast: false }.freeze
  private_constant :QUERY_OPTIONS

  class << self
    # @param host [String, nil] nil and "localhost": the UNIX socket
    # @param flags [Integer, nil] CLIENT_MULTI_STATEMENTS and its like
    # @return [Mysql] connected
    # @raise [Error]
    def real_connect(host = nil, user = nil, passwd = nil, db = nil, port = nil, socket = nil,
                     flags = nil)
      allocate.real_connect(host, user, passwd, db, port, socket, flags)
    end

    alias connect real_connect
    alias new real_connect

    # @return [Mysql] not connected yet
    def init
      allocate
    end

    # @return [String]
    def escape_string(string)
      Mysql2::Client.escape(string)
    end

    alias quote escape_string

    # @return [String] version of the client's library
    def client_info
      Mysql2::Client.info[:version]
    end
  end

  # Whether #query returns the result, or true, and #store_result the result then.
  attr_accessor :query_with_result
  # Connects again by itself when the connection was lost.
  attr_accessor :reconnect

  # @return [Mysql] self
  def real_connect(host = nil, user = nil, passwd = nil, db = nil, port = nil, socket = nil,
                   flags = nil)
    @options = { host: host, username: user, password: passwd, database: db, port: port,
                 socket: socket, flags: flags }
               .reject { |_, value| value.nil? || value == 0 || value == "" }
    @query_with_result = true
    open
    self
  end

  alias connect real_connect

  # @yieldparam result [Result] with a block each result of several statements
  # @return [Result, nil, Mysql] nil: there are no rows; with a block self
  # @raise [Error]
  def query(sql)
    client = connected
    result = wrap { client.query(sql, QUERY_OPTIONS) }
    return each_result(result) { |each| yield each } if block_given?
    return result if @query_with_result != false

    @stored = result
    true
  end

  alias real_query query

  # The result of the last #query with `query_with_result = false`, or of #next_result.
  def store_result
    stored = @stored
    @stored = nil
    stored || wrap { connected.store_result }
  end

  alias use_result store_result

  # Sends a query and returns; #get_result has its result.
  # @raise [Error] the last one's result has not been taken
  def send_query(sql)
    Error.from_mysql2 { connected.query(sql, **QUERY_OPTIONS, async: true) }
    self
  end

  # Waits for the result of #send_query.
  # @return [Result, nil]
  def get_result
    wrap { connected.async_result }
  end

  # Sends the query, waits and returns its result. Other threads run meanwhile, and in NeverBlock's
  # loop other fibers.
  # @param timeout [Numeric, nil] seconds; when they are over, the connection is closed
  def async_query(sql, timeout = nil)
    send_query(sql)
    came = timeout.nil? || IO.for_fd(socket, autoclose: false).wait_readable(timeout)
    expire(timeout) unless came
    result = get_result
    return result unless block_given?

    each_result(result) { |each| yield each }
  end

  alias c_async_query async_query

  # @return [Integer] descriptor, readable when the result of #send_query comes
  def socket
    Error.from_mysql2 { connected.socket }
  end

  # @return [Boolean] whether #get_result would not wait
  def readable?(timeout = 0)
    !IO.for_fd(socket, autoclose: false).wait_readable(timeout).nil?
  end

  # @return [Boolean] whether there is another result
  def next_result
    Error.from_mysql2 { connected.next_result }
  end

  def more_results?
    connected.more_results?
  end

  alias more_results more_results?

  def affected_rows
    Error.from_mysql2 { connected.affected_rows }
  end

  def insert_id
    Error.from_mysql2 { connected.last_id }
  end

  def thread_id
    Error.from_mysql2 { connected.thread_id }
  end

  def escape_string(string)
    Error.from_mysql2 { connected.escape(string) }
  end

  alias quote escape_string

  def select_db(name)
    Error.from_mysql2 { connected.select_db(name) }
    self
  end

  def set_server_option(option)
    Error.from_mysql2 { connected.set_server_option(option) }
    self
  end

  def ping
    raise Error, "MySQL server has gone away" unless connected.ping

    self
  end

  def server_info
    connected.server_info[:version]
  end

  def client_info
    self.class.client_info
  end

  def warning_count
    connected.warning_count
  end

  # @return [Mysql] self
  def close
    @client&.close
    @client = nil
    self
  end

  # Rows of one result, as Arrays or Hashes of Strings.
  class Result
    include Enumerable

    # @param result [Mysql2::Result]
    def initialize(result)
      @fields = result.fields
      @rows = result.to_a
      @next = 0
    end

    # @yieldparam row [Array<String, nil>]
    def each
      while (row = fetch_row)
        yield row
      end
      self
    end

    # @param with_table [Boolean] kept for its place; names are without their table's
    # @yieldparam row [Hash{String=>String, nil}]
    def each_hash(_with_table = false)
      while (row = fetch_hash)
        yield row
      end
      self
    end

    # @return [Array<Hash{String=>String, nil}>]
    def all_hashes
      [].tap { |rows| each_hash { |row| rows << row } }
    end

    # @return [Array<String, nil>, nil] nil: there is no further row
    def fetch_row
      row = @rows[@next]
      @next += 1 if row
      row
    end

    # @return [Hash{String=>String, nil}, nil]
    def fetch_hash
      row = fetch_row
      row && @fields.zip(row).to_h
    end

    def num_rows
      @rows.size
    end

    def num_fields
      @fields.size
    end

    Field = Struct.new(:name)

    # @return [Array<Field>]
    def fetch_fields
      @fields.map { |name| Field.new(name) }
    end

    # @param row [Integer] which is the next
    def data_seek(row)
      @next = row
      self
    end

    def free
      @rows = []
    end
  end

  private

  def open
    @client&.close
    @client = Error.from_mysql2 do
      Mysql2::Client.new(**@options, reconnect: @reconnect ? true : false)
    end
  end

  def connected
    @client || raise(Error, "MySQL client is not connected")
  end

  # @return [Result, nil]
  def wrap
    result = Error.from_mysql2 { yield }
    result && Result.new(result)
  end

  def each_result(result)
    loop do
      yield result if result
      return self unless more_results?

      next_result
      result = store_result
    end
  end

  def expire(timeout)
    close
    raise Error, "query: timeout (waited #{timeout} seconds)"
  end
end
