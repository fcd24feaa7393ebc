# frozen_string_literal: true

# `binding.irb` and the gem debug in a request, at a terminal: that request is held, and no other.

require "minitest/autorun"
require "pty"
require "securerandom"
require "tmpdir"
require_relative "../support/http_client"
require_relative "../support/patience"
require_relative "../support/rails_application"

class RailsPromptTest < Minitest::Test
  PROMPT = /\((?:rdbg|ruby)[^)]*\) /
  # As a generated application has it.
  APPLICATION = RailsApplication.new(
    gemfile: RailsApplication.gemfile(RailsApplication.pinned("debug"))
  )

  def test_a_prompt_in_one_request_holds_that_request_and_no_other
    at_a_terminal do
      held = ask("/prompt?user=ada")
      read_until(/(irb\(|>> |binding\.irb)/)
      others_are_answered
      type("params[:user].upcase")
      read_until(/=> "(ADA)"/)
      type("exit")
      assert_equal "went on", held.value
    end
  end

  def test_a_breakpoint_in_one_request_holds_that_request_and_no_other
    at_a_terminal do
      held = ask("/breakpoint?user=amy")
      read_until(PROMPT)
      others_are_answered
      jobs_run
      later = ask("/breakpoint?user=bob")
      others_are_answered
      type("p word")
      read_until(/=> "(AMY)"/)
      type("next 2")
      read_until(/=>\s*\d+\|\s*(render plain)/)
      others_are_answered
      type("p word")
      read_until(/=> "(YMA)"/)
      type("continue")
      assert_equal "YMA went on", held.value

      # The next one's place: the prompt of the last is drawn again while its line is typed.
      read_until(/^=>\s*\d+\|/)
      read_until(PROMPT)
      type("p word")
      read_until(/=> "(BOB)"/)
      type("continue")
      assert_equal "BOB went on", later.value
    end
  end

  private

  def at_a_terminal
    Dir.mktmpdir do |directory|
      APPLICATION.copy_to(directory)
      RailsServer::WRITE.each { |path, text| File.write(File.join(directory, path), text) }
      env = APPLICATION.env(directory).merge(
        "RAILS_LOG_TO_STDOUT" => nil, "TERM" => "dumb", "IRBRC" => "/dev/null",
        "RUBY_DEBUG_NO_COLOR" => "1", "HOME" => directory
      )
      command = ["bin/rails", "server", *RailsServer::ANY]
      PTY.spawn(env, *command, chdir: directory) do |terminal, keys, pid|
        @text = +""
        @at = 0
        @keys = keys
        reader = Thread.new { read(terminal) }
        @url = read_until(/Listening on (\S+)/)
        yield
        ended = true
      ensure
        # One that is at its prompt would wait for what is typed.
        Process.kill(ended ? "TERM" : "KILL", pid)
        reader.join
        Process.wait(pid)
      end
    end
  end

  def ask(path)
    Thread.new { response(path).body }
  end

  def response(path)
    uri = URI("#{@url}#{path}")
    HTTPClient.open(uri, read_timeout: Patience::SECONDS) do |client|
      client.get(uri.request_uri)
    end
  end

  def others_are_answered
    assert_equal %w[200 200 200], Array.new(3) { response("/up").code }
  end

  # Threads of the process go on too, also new ones.
  def jobs_run
    text = SecureRandom.hex
    assert_equal "202", response("/job?text=#{text}").code
    Patience.await("the job's record") { response("/records?text=#{text}").body == "1" }
  end

  def type(line)
    @keys.puts(line)
  end

  # Goes on from where it stopped.
  # @return [String, nil] the pattern's group
  def read_until(pattern)
    match = Patience.await("#{pattern.inspect} at the terminal", -> { @text[@at..] }) do
      pattern.match(@text, @at)
    end
    @at = match.end(0)
    match[1]
  end

  # The other side of a terminal that nobody reads stands still when it is full.
  def read(terminal)
    loop { @text << terminal.readpartial(4_096) }
  rescue EOFError, Errno::EIO
    nil
  end
end
