# frozen_string_literal: true

require_relative "results"

# For tests of an application that Puma and this server serve in turn. The class has .application
# and WORD for {Applications::Results}; #rules for {Alike}; #first_data, which puts the first data
# in their place; #left_over, which is what the visits have left.
module BesidePuma
  # So many different pages and actions at the least.
  PAGES_MIN = 40

  def setup
    @app = self.class.application
  rescue Application::Unavailable, Services::Unavailable => e
    skip e.message
  end

  private

  # @param options [Array<String>] words of this server's command
  # @yieldparam url [String]
  # @yieldreturn [Array<Visitor>]
  def assert_alike(*options, &visits)
    alike = Alike.new(rules)
    expected, left = on(:puma, [], alike, &visits)
    seen, ours = on(:neverblock, options, alike, &visits)
    differences = expected.zip(seen).flat_map { |one, other| alike.differences(one, other) }
    assert_empty differences, "#{differences.size} differences:\n#{differences.join("\n")}"
    assert_equal left.keys, ours.keys
    left.each { |name, rows| assert_same_rows(name, rows, ours[name]) }
    counted(seen, alike)
  end

  def assert_same_rows(name, rows, ours)
    assert rows.tally == ours.tally, <<~TEXT
      #{name}: #{rows.size} rows, #{ours.size} here
      of Puma alone:
      #{(rows - ours).join("\n")}
      here alone:
      #{(ours - rows).join("\n")}
    TEXT
  end

  # @return [Array<Visitor>] what the block gave for each user
  def in_turn(users, at_once)
    return users.map { |number| yield number } unless at_once

    users.map { |number| Thread.new { yield number } }.map(&:value)
  end

  def on(name, options, alike)
    first_data
    server = @app.serve(name, *options)
    visitors = yield server.url
    if name == :neverblock then healthy(server, server.stop)
    else server.discard
    end
    [visitors, left_over(alike)]
  ensure
    server&.stop
  end

  # A warning is of a stall: on a machine that stands still for a moment it is right.
  def healthy(server, status)
    assert_predicate status, :success?
    refute_match(/^neverblock: \S+ (?!info: |warning: ).*/, server.log)
  end

  # Pages and actions are counted for one visitor, as the others do the same.
  def counted(visitors, alike)
    steps = visitors.first.answers.map { |one| alike.text(one.step) }
    pages = steps.map { |step| step.gsub(/<row \d+ of/, "<row of") }.uniq.size
    assert_operator pages, :>=, PAGES_MIN
    Applications::Results.record(self.class::WORD, name.delete_prefix("test_").tr("_", " "),
                                 { "visitors" => visitors.size, "pages" => pages,
                                   "answers" => visitors.sum { |one| one.answers.size } })
  end
end
