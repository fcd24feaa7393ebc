# frozen_string_literal: true

require_relative "../../support/unit"
require_relative "../../support/config_text"
require_relative "../../support/init_case"
require "neverblock/init/sources"

class InitDocumentTest < Minitest::Test
  include ConfigText
  include InitCase

  READER = NeverBlock::Init::Puma

  # As Rails writes it, with what people add.
  RAILS = <<~'RUBY'
    # The threads of a worker.
    threads_count = ENV.fetch("RAILS_MAX_THREADS", 3)
    threads threads_count, threads_count

    port ENV.fetch("PORT", 3000)
    plugin :tmp_restart
    plugin :solid_queue if ENV["SOLID_QUEUE_IN_PUMA"]
    pidfile ENV["PIDFILE"] if ENV["PIDFILE"]

    if ENV["RAILS_ENV"] == "production"
      require "etc"
      workers 2
      on_worker_boot do |number|
        $stdout.puts number
      end
    else
      quiet
    end
    quiet unless ENV["LOUD"]
    lowlevel_error_handler { |error| [500, {}, [error.message]] }
  RUBY

  # What it says, a server can read.
  def test_it_is_a_configuration_file
    text = document(reader(RAILS, "config/puma.rb"))
    with_variables("RAILS_ENV" => "production", "PIDFILE" => "a.pid", "PORT" => "7") do
      values = read(text)
      assert_equal ["http://0.0.0.0:7"], values.fetch(:bind).map(&:url)
      assert_equal [2, "a.pid"], values.values_at(:workers, :pidfile)
      assert_equal 1, values.fetch(:after_fork).size
      refute values.key?(:solid_queue)
    end
    with_variables("SOLID_QUEUE_IN_PUMA" => "1") { assert read(text).fetch(:solid_queue) }
  end

  def test_every_setting_stands_with_its_place_and_its_meaning
    text = document(reader(RAILS, "config/puma.rb"))
    assert_includes text, "# config/puma.rb:6  plugin :tmp_restart\n# Touching it"
    assert_includes text, "# config/puma.rb:3  threads threads_count, threads_count\n" \
                          "# Nothing to write here: a request runs in a fiber"
    assert_includes text, "# config/puma.rb:20  lowlevel_error_handler"
    assert_includes text, "# No counterpart: "
    assert_includes text, "\nif ENV[\"SOLID_QUEUE_IN_PUMA\"]\n  # config/puma.rb:7"
    refute_includes text, "unless", "nothing stands in it"
    assert(text.lines.all? { |line| line.size <= 130 })
    refute_match(/\n\n\n/, text)
  end

  def test_without_another_server_it_has_the_first_settings_as_comments
    assert_empty read(document)
    assert_includes document, "# workers :auto"
  end

  # Its text is what Ruby's own tree leaves out.
  CODE = <<~'RUBY'
    begin
      require "no_such_library_of_ours"
    rescue LoadError
      $init_trace = [1]
    end
    number = begin
      Integer("a")
    rescue ArgumentError
      2
    ensure
      3
    end
    $init_trace << number
    $init_trace << Integer("b") rescue $init_trace << 4
    text = <<~TEXT
      a
        b
    TEXT
    $init_trace << text << <<~TEXT
      c
    TEXT
    begin
      workers 2
      fork_worker
    end
  RUBY

  def test_code_is_kept_whole
    assert_equal 2, loaded(reader(CODE)).fetch(:workers)
    assert_equal [1, 2, 4, "a\n  b\n", "c\n"], $init_trace
  ensure
    $init_trace = nil
  end

  def test_a_value_in_a_heredoc_is_told
    assert_equal [:missing], kinds("pidfile <<~A.strip\n  a.pid\nA\n")
    assert_equal [:missing], kinds("if true\n  a = <<A\ntext\nA\nend\n")
    assert_equal %i[carried carried carried], kinds("if true\n  a = <<~A\n    b\n  A\nend\n")
  end

  def test_a_file_without_settings_is_named
    text = document(reader("# nothing\n", "config/puma.rb"))
    assert_includes text, "\n\n# config/puma.rb sets nothing.\n"
    refute_match(/\n\n\n/, text)
  end

  def test_texts_that_a_format_or_a_pattern_could_take_for_their_own_stay
    text = "pidfile \"100%d-ä-\\\\0.pid\"\n"
    assert_equal "100%d-ä-\\0.pid", read(document(reader(text))).fetch(:pidfile)
  end

  private

  def with_variables(variables)
    names = %w[RAILS_ENV PIDFILE PORT SOLID_QUEUE_IN_PUMA]
    before = ENV.to_h.slice(*names)
    names.each { |name| ENV.delete(name) }
    ENV.update(variables)
    yield
  ensure
    names.each { |name| ENV.delete(name) }
    ENV.update(before)
  end
end
