# frozen_string_literal: true

# docs/CODE-TOUR.md and docs/ARCHITECTURE.md name what is there: files, functions, folders.

require "test_helper"
require "tmpdir"

class CodeTourTest < Minitest::Test
  ROOT = File.expand_path("../..", __dir__)
  TOUR = File.join(ROOT, "docs/CODE-TOUR.md")
  STEP = /\A\d+\. \S/
  PLACE = /\A {3,4}`([^`]+)`: `(\w+[?!]?)`\z/
  LINES_MAX = 240
  COLUMNS_MAX = 100

  # What is wrong with a tour, each with its line.
  def faults(lines, root = ROOT)
    lines.each_with_index.flat_map do |line, index|
      number = index + 1
      found = []
      found << "#{number}: has more than #{COLUMNS_MAX} columns" if line.size > COLUMNS_MAX
      if line.match?(STEP) && !lines[number].to_s.match?(PLACE)
        found << "#{number}: no line \"   `path/to/file.c`: `function`\" follows this step"
      end
      found << wrong_place(root, number, *line.match(PLACE).captures) if line.match?(PLACE)
      found.compact
    end
  end

  def wrong_place(root, number, path, name)
    file = File.join(root, path)
    return "#{number}: there is no file #{path}" unless File.file?(file)

    "#{number}: #{path} defines no #{name}" unless File.read(file).match?(definition(path, name))
  end

  # In C a definition begins at the margin and has a body. A call is indented. A declaration ends
  # with a semicolon.
  def definition(path, name)
    name = Regexp.escape(name)
    if path.end_with?(".rb")
      /^\s*def (?:self\.)?#{name}(?![\w?!=])/
    else
      /^\w[^\n;={}]*\b#{name}\([^;{}]*\)\s*\{/
    end
  end

  def test_the_tour_names_what_is_there
    lines = File.readlines(TOUR, chomp: true)
    assert_operator lines.size, :<=, LINES_MAX
    assert_operator lines.grep(STEP).size, :>, 50
    assert_empty faults(lines)
  end

  # docs/ARCHITECTURE.md has a row for each folder of the core, and each has a README.
  def test_the_map_names_every_folder_of_the_core
    map = File.read(File.join(ROOT, "docs/ARCHITECTURE.md"))
    core = File.join(ROOT, "ext/neverblock/core")
    folders = Dir.children(core).select { |name| File.directory?(File.join(core, name)) }
    assert_empty(folders.reject { |name| map.include?("| `#{name}/` |") })
    assert_empty(folders.reject { |name| File.file?(File.join(core, name, "README.md")) })
  end

  def test_the_steps_of_a_walk_are_counted
    File.read(TOUR).split(/^## /).drop(1).each do |walk|
      numbers = walk.lines.drop(1).grep(STEP).map(&:to_i)
      assert_equal (1..numbers.size).to_a, numbers, walk.lines.first
    end
  end

  def test_a_file_or_function_that_is_gone
    Dir.mktmpdir do |root|
      File.write(File.join(root, "a.c"),
                 "void declared(int a,\n              int b);\n" \
                 "void made(int a,\n          int b) {\n    called(a);\n}\n")
      File.write(File.join(root, "a.rb"), "def self.made\nend\ndef open?\nend\n")
      told = faults(["1. It is made.", "   `a.c`: `made`",
                     "2. It is declared.", "   `a.c`: `declared`", "   `a.c`: `called`",
                     "   `b.c`: `made`", "   `a.rb`: `made`", "   `a.rb`: `open?`",
                     "   `a.rb`: `open`", "3. It is nowhere."], root)
      assert_equal ["4: a.c defines no declared", "5: a.c defines no called",
                    "6: there is no file b.c", "9: a.rb defines no open",
                    "10: no line \"   `path/to/file.c`: `function`\" follows this step"], told
    end
  end
end
