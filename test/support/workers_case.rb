# frozen_string_literal: true

# What tests of a front and its workers share: the server's processes by their titles, and waiting
# for what is to become true of them.

require "minitest/autorun"
require_relative "gate"
require_relative "http_client"
require_relative "server_process"

class WorkersCase < Minitest::Test
  HELLO = "run ->(env) { [200, { 'content-type' => 'text/plain' }, [Process.pid.to_s]] }\n"

  private

  # @yieldparam server [ServerProcess] with workers
  def serve(app = HELLO, workers: 2, options: [], **others, &block)
    ServerProcess.run(app, options: ["-w", workers.to_s, *options], **others, &block)
  end

  # @param role [String] "front", "mold", "worker", "worker 1"
  # @return [Array<Integer>] process ids
  def processes(server, role)
    Dir.children("/proc").grep(/\A\d+\z/).select do |pid|
      title = File.read("/proc/#{pid}/cmdline").scrub.delete("\0")
      folder = server.in_directory("").chomp("/")
      title.start_with?("neverblock: #{role}") && title.end_with?(" of #{folder}")
    rescue SystemCallError
      false
    end.map(&:to_i)
  end

  def get(server, path = "/")
    HTTPClient.get(URI("#{server.url}#{path}"))
  end

  # What is no number is a failure: signals to process 0 go to all that are here.
  # @return [Integer]
  def pid_from(server, path = "/")
    Integer(get(server, path), 10)
  end

  def get_response(server, path = "/")
    HTTPClient.get_response(URI("#{server.url}#{path}"))
  end

  # @return what the block returned, once that is true
  def await(what, server = nil, &)
    Patience.await(what, -> { server&.stderr }, &)
  end

  # @return [Integer] the process id of the worker that has taken the place
  def await_other(server, number, old)
    await("another worker #{number}", server) do
      (processes(server, "worker #{number} ") - [old]).first
    end
  end

  # A zombie is gone as well: whose child it became may not care.
  def gone?(pid)
    File.read("/proc/#{pid}/stat").rpartition(")").last.split.first == "Z"
  rescue SystemCallError
    true
  end
end
