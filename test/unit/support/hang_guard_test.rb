# frozen_string_literal: true

# A test that hangs ends its process and says where it stood.

require "test_helper"
require "open3"
require "tempfile"

class HangGuardTest < Minitest::Test
  def run_test(body, seconds:)
    Tempfile.create(["hang", "_test.rb"]) do |file|
      file.write(<<~RUBY)
        require "test_helper"
        class Sample < Minitest::Test
          def test_sample
            #{body}
          end
        end
      RUBY
      file.flush
      env = { "NB_TEST_SECONDS" => seconds.to_s, "NB_TEST_RESULT" => nil }
      Open3.capture2e(env, RbConfig.ruby, "-I#{File.expand_path("../..", __dir__)}", file.path)
    end
  end

  def test_a_test_that_waits_for_ever_ends_the_process_with_the_stacks
    # Its time begins again, and is over, once it stands there.
    output, status = run_test(<<~RUBY, seconds: 1000)
      main = Thread.current
      Thread.new do
        Thread.pass until main.stop?
        HangGuard.install(seconds: 0)
        HangGuard.begin(self)
      end
      Thread::Queue.new.pop
    RUBY
    assert_equal 70, status.exitstatus, output
    assert_match(/HANG: Sample#test_sample took over 0 s/, output)
    assert_match(/in `?'?(Thread::Queue#)?pop'/, output)
  end

  def test_a_test_in_time_is_left_alone
    output, status = run_test("assert_equal 1, 1", seconds: 100)
    assert_predicate status, :success?, output
    refute_match(/HANG/, output)
  end
end
