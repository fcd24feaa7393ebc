# frozen_string_literal: true

# Files that are kept open give way when a client needs the descriptor.

require "minitest/autorun"
require_relative "../support/served_folder"
require_relative "../support/server_process"

class FilesDescriptorsTest < Minitest::Test
  KEPT = 16 # the least that a loop keeps open, where descriptors are few (files/open_files.h)

  def setup
    skip "needs proc(5)" unless File.exist?("/proc/self/fd")

    @folder = ServedFolder.new((1..40).to_h { |number| ["#{number}.txt", "file #{number}"] })
    @clients = []
  end

  def teardown
    @clients&.each(&:close)
    @folder&.remove
  end

  def test_files_in_demand_give_their_descriptors_to_clients
    app = "run ->(env) { [200, {}, ['the application']] }"
    few = ["sh", "-c", 'ulimit -n 64; exec "$@"', "sh"]
    ServerProcess.run(app, options: ["--public", @folder.path], wrap: few) do |server|
      reader = connect(server)
      (1..40).each { |number| assert_equal "file #{number}", ask(reader, "/#{number}.txt") }
      Patience.await("what is kept to be within its bound") { open_files(server) == KEPT }
      64.times do
        break if open_files(server) < KEPT

        assert_equal "the application", ask(connect(server), "/hello")
      end
      assert_operator open_files(server), :<, KEPT
      @clients.each { |client| assert_equal "the application", ask(client, "/still/there") }
      assert_equal "file 1", ask(reader, "/1.txt")
    end
  end

  private

  def connect(server)
    Wire::Client.new(server.url).tap { |client| @clients << client }
  end

  def ask(client, path)
    client.get(path)
    client.response.body
  end

  def open_files(server)
    Dir.children("/proc/#{server.pid}/fd").count do |number|
      path = File.readlink("/proc/#{server.pid}/fd/#{number}")
      path.start_with?("#{@folder.path}/")
    rescue Errno::ENOENT
      false
    end
  end
end
