# frozen_string_literal: true

# The databases the other tests are promised: real ones, fresh, on loopback, gone when stopped.

require "test_helper"
require "open3"
require "support/services"

class ServicesTest < Minitest::Test
  def ask(*command)
    output, status = Open3.capture2e(*command)
    assert_predicate status, :success?, "#{command.join(" ")}: #{output}"
    output.strip
  end

  # A stopped service leaves neither process, nor port, nor folder.
  def assert_leaves_nothing(service)
    pid = service.pid
    port = service.port
    folder = service.folder
    service.stop
    assert_raises(Errno::ESRCH) { Process.kill(0, pid) }
    assert_raises(Errno::ECONNREFUSED) { TCPSocket.new(Services::Service::HOST, port).close }
    refute_path_exists folder
  end

  def with(service)
    service.start
    yield service
    assert_predicate service, :running?
    assert_leaves_nothing(service)
  ensure
    service.stop
  end

  def test_postgresql_answers_a_query
    with(Services::Postgresql.new) do |service|
      assert_equal "42", ask("psql", "-qAtX", service.url, "-c", "select 6 * 7")
    end
  end

  def test_postgresql_speaks_tls_and_keeps_data_and_port_over_a_restart
    with(Services::Postgresql.new(tls: true, max_connections: 50)) do |service|
      connection = "host=localhost port=#{service.port} user=postgres " \
                   "sslmode=verify-full sslrootcert=#{service.ca_file}"
      client = ["psql", "-qAtX", connection, "-c"]
      assert_equal "t", ask(*client, "create table kept as select 50 as number; " \
                                     "select ssl from pg_stat_ssl where pid = pg_backend_pid()")
      port = service.port
      service.restart
      assert_equal port, service.port
      query = "select number from kept where number = current_setting('max_connections')::int"
      assert_equal "50", ask(*client, query)
    end
  end

  def test_mariadb_speaks_tls
    with(Services::Mariadb.new(tls: true)) do |service|
      client = [
        "mariadb", "--no-defaults", "--ssl", "--ssl-ca=#{service.ca_file}", "-u", "root",
        "-N", "-B", "-h", service.host, "-P", service.port.to_s, "-e"
      ]
      assert_match(/\ASsl_cipher\tTLS/, ask(*client, "show status like 'Ssl_cipher'"))
    end
  end

  def test_mariadb_answers_a_query
    with(Services::Mariadb.new) do |service|
      client = ["mariadb", "--no-defaults", "--skip-ssl", "-u", "root", "-N", "-B"]
      assert_equal "42",
                   ask(*client, "-h", service.host, "-P", service.port.to_s, "-e", "select 6 * 7")
      assert_equal "42", ask(*client, "-S", service.socket, "-e", "select 6 * 7")
    end
  end

  def test_redis_keeps_a_value
    with(Services::Redis.new) do |service|
      client = ["redis-cli", "-h", service.host, "-p", service.port.to_s]
      assert_equal "OK", ask(*client, "set", "answer", "42")
      assert_equal "42", ask(*client, "get", "answer")
    end
  end

  def test_databases_do_not_run_as_root
    skip "only root has a user to give up" unless Process.uid.zero?
    with(Services::Redis.new) do |service|
      refute_equal 0, File.stat("/proc/#{service.pid}").uid
    end
  end

  def test_a_server_that_does_not_come_up_is_reported_with_what_it_said
    broken = Class.new(Services::Redis) do
      def name = "broken"
      def command = ["sh", "-c", "echo disk on fire; exit 1"]
    end
    error = assert_raises(Services::Unavailable) { broken.new.start }
    assert_match(/broken did not start: .*disk on fire/m, error.message)
  end

  def test_a_missing_server_says_how_to_get_it
    missing = Class.new(Services::Redis) do
      def programs = [nil]
      def name = "missing"
    end
    error = assert_raises(Services::Unavailable) { missing.new.start }
    assert_match(/not installed \(bin\/setup --all/, error.message)
  end
end
