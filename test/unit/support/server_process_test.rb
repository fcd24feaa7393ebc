# frozen_string_literal: true

require_relative "../../support/unit"
require_relative "../../support/server_process"

class ServerProcessSupportTest < Minitest::Test
  # A server whose child keeps its output open.
  class Parent < ServerProcess
    def words(_rackup)
      ["sh", "-c", "sleep 99 & echo child $!; echo Listening on http://127.0.0.1:1; exec sleep 99"]
    end
  end

  def test_the_output_of_a_killed_server_is_read_to_its_end_only
    server = Parent.new("").start
    child = Integer(server.stdout[/child (\d+)/, 1])
    server.kill
    assert_equal 1, Process.kill(0, child)
    assert server.instance_variable_get(:@reader).join(Patience::SECONDS), "it still reads"
  ensure
    Process.kill("KILL", child) if child
  end
end
