# frozen_string_literal: true

# Calls that engines of containers forbid, or did once. The default rules of today's docker
# (moby/profiles, seccomp/default.json) let all of ours through but clone3, which the C library does
# without. Older engines, and rules of one's own, refuse what is newer than they are. Such a call is
# to count as one that the kernel does not have.

require "minitest/autorun"
require "tmpdir"
require_relative "../support/http_client"
require_relative "../support/server_process"

class SeccompTest < Minitest::Test
  APP = "run ->(env) { [200, {}, [env['rack.input'].read.to_s.bytesize.to_s]] }\n"
  SOURCE = File.join(ServerProcess::ROOT, "test/support/forbid.c")
  EPERM = 1
  ENOSYS = 38

  # What is forbidden together: [error, calls]
  FORBIDDEN = {
    "what docker forbids" => [ENOSYS, %w[clone3]],
    "shared memory without a name" => [EPERM, %w[memfd_create]],
    "reads and writes with flags" => [EPERM, %w[preadv2 pwritev2]],
    "prctl" => [EPERM, %w[prctl]],
    "all that is newer than 2016, as refused" => [
      EPERM, %w[memfd_create preadv2 pwritev2 statx close_range openat2 pidfd_open]
    ],
    "all that is newer than 2016, as unknown" => [
      ENOSYS, %w[memfd_create preadv2 pwritev2 statx close_range openat2 pidfd_open clone3]
    ]
  }.freeze

  class << self
    # @return [String, nil] the program, compiled once; nil where it cannot be
    def forbid
      return @forbid if defined?(@forbid)

      directory = Dir.mktmpdir
      Minitest.after_run { FileUtils.rm_rf(directory) }
      program = File.join(directory, "forbid")
      built = system("cc", "-O1", "-o", program, SOURCE, out: File::NULL, err: File::NULL)
      @forbid = (program if built && system(program, "1", "statx", "--", "true"))
    end
  end

  FORBIDDEN.each do |what, (error, calls)|
    [1, 2].each do |workers|
      define_method("test_without #{what} it serves with #{workers}, and spools") do
        skip "no seccomp here" unless self.class.forbid

        wrap = [self.class.forbid, error.to_s, *calls, "--"]
        ServerProcess.run(APP, options: ["-w", workers.to_s], wrap: wrap) do |server|
          assert_equal "0", HTTPClient.get(URI(server.url))
          assert_equal "1000000", HTTPClient.post(URI(server.url), "x" * 1_000_000).body
        end
      end
    end
  end
end
