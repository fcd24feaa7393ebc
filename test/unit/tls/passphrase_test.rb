# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/tls/passphrase"

class PassphraseTest < Minitest::Test
  Passphrase = NeverBlock::TLS::Passphrase

  def test_a_variable_of_the_environment_is_taken_whole
    ENV["NB_TEST"] = "two words\n"
    assert_equal "two words\n", Passphrase.new("/k", [:env, "NB_TEST"]).read
  ensure
    ENV.delete("NB_TEST")
  end

  def test_a_command_writes_it_and_its_line_end_is_left_out
    assert_equal "two words ", Passphrase.new("/k", [:command, "echo 'two words '"]).read
    assert_equal "x", Passphrase.new("/k", [:command, "printf x"]).read
    assert_equal "", Passphrase.new("/k", [:command, "true"]).read
  end

  def test_without_its_status_a_command_that_writes_one_has_succeeded
    assert_equal "two words", read_without_status("echo 'two words'")
    error = assert_raises(NeverBlock::TLS::Unusable) { read_without_status("exit 3") }
    assert_equal "/k needs a passphrase, and the command \"exit 3\" has written none; " \
                 "its status is unknown", error.message
  end

  MISSING = {
    nil => "; say where it is: passphrase_env=NAME or passphrase_command=COMMAND",
    [:env, "NB_TEST_NONE"] => ", and the environment variable NB_TEST_NONE is not set",
    [:command, "exit 3"] => ", and the command \"exit 3\" ended with status 3",
    [:command, "echo x; kill -9 $$"] =>
      ", and the command \"echo x; kill -9 $$\" was ended by signal 9",
    [:command, "/no/such/command"] =>
      ", and the command \"/no/such/command\" cannot be run: No such file or directory - " \
      "/no/such/command"
  }.freeze

  MISSING.each do |source, words|
    define_method("test_#{source.inspect} has none") do
      error = assert_raises(NeverBlock::TLS::Unusable) { Passphrase.new("/k", source).read }
      assert_equal "/k needs a passphrase#{words}", error.message
    end
  end

  private

  # The kernel reaps children of a process that ignores SIGCHLD.
  def read_without_status(command)
    before = trap("CHLD", "IGNORE")
    Passphrase.new("/k", [:command, command]).read
  ensure
    trap("CHLD", before)
  end
end
