# frozen_string_literal: true

require_relative "../watch_case"
require "neverblock/watch/advice/report"

# Advice as text: names in it may come from users of the application.
class AdviceReportTest < WatchCase
  NAME = "\e]0;OWNED\a\u009b2J\na name".encode("UTF-8")

  def setup
    super
    @folder = Dir.mktmpdir
    @app = File.join(@folder, "app.rb")
    File.write(@app, "def show\n  hosts.map { |host| look(host) } # \e[31m\nend\n")
  end

  def teardown
    FileUtils.remove_entry(@folder)
    super
  end

  def test_control_characters_of_what_was_waited_for_do_not_reach_the_terminal
    text = Advice::Report.new(observed).to_s

    assert_includes(text, "waits for DNS ?]0;OWNED??2J?a name at one line")
    assert_includes(text, "# ?[31m")
    assert_includes(text, "GET /?[2J")
    refute_match(/[[:cntrl:]&&[^\n]]/, text)
  end

  def test_control_characters_of_a_file_that_cannot_be_read_do_not_reach_the_terminal
    frames = [["#{@folder}/gone\e[2J.rb", 1, "Shop.show", false]]
    text = Advice::Report.new(observed(frames)).to_s

    assert_includes(text, "gone?[2J.rb")
  end

  private

  def observed(frames = [[@app, 2, "Shop.show", false], [@app, 2, "Shop.show", false]])
    waits = (0..9).map do |number|
      { "kind" => "dns", "what" => NAME, "start_s" => number / 10.0, "for_s" => 0.1, "ends" => true,
        "stack" => frames.each_index.to_a }
    end
    { "requests" => [{ "method" => "GET", "path" => "/\e[2J", "run_s" => 1.0, "frames" => frames,
                       "waits" => waits }] }
  end
end
