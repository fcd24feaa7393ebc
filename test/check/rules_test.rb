# frozen_string_literal: true

# Tests that each rule of bin/check fails on a tree that breaks it, and passes on a tree that keeps
# it and on this one.

require "test_helper"
require "uri"
require "fileutils"
require "stringio"
require "tmpdir"
require "support/style"

class RulesTest < Minitest::Test
  CLANG_FORMAT = File.join(Style::Gate::ROOT, ".clang-format")
  RUBOCOP = File.join(Style::Gate::ROOT, ".rubocop.yml")

  # What a rule says about a folder with these files.
  def judge(rule, files)
    Dir.mktmpdir do |root|
      write(root, files)
      rule.violations(Style::Tree.new(File.realpath(root))).map(&:to_s)
    end
  end

  def write(root, files)
    files.each do |path, text|
      FileUtils.mkdir_p(File.dirname(File.join(root, path)))
      File.write(File.join(root, path), text)
    end
  end

  def assert_broken(rule, files, *expected)
    found = judge(rule, files)
    expected.each do |text|
      assert(found.any? { |line| text === line }, "#{text.inspect} is not among #{found.inspect}")
    end
    refute_empty found
  end

  def assert_kept(rule, files)
    assert_empty judge(rule, files)
  end

  def extconf(sources)
    { "ext/neverblock/extconf.rb" => "require \"mkmf\"\nSOURCES = {\n#{sources}\n}.freeze\n" }
  end

  # --- sources

  def test_a_c_file_that_extconf_does_not_name
    files = extconf('  "core/base" => %w[ring],').merge("ext/neverblock/core/base/ring.c" => "",
                                                        "ext/neverblock/core/base/timer.c" => "")
    assert_broken Style::SourceList.new, files, /base\/timer\.c: is not in SOURCES/
  end

  def test_a_name_in_extconf_without_a_file
    files = extconf("  \"core/base\" => %w[ring\n timer],")
            .merge("ext/neverblock/core/base/ring.c" => "")
    assert_broken Style::SourceList.new, files,
                  %r{SOURCES names core/base/timer\.c, which does not exist}
  end

  def test_two_files_of_one_basename
    files = extconf('  "core/base" => %w[ring], "core/intake" => %w[ring],')
            .merge("ext/neverblock/core/base/ring.c" => "",
                   "ext/neverblock/core/intake/ring.c" => "")
    assert_broken Style::SourceList.new, files, /has the basename of core\/base\/ring\.c/
  end

  def test_the_sources_that_are_there
    assert_kept Style::SourceList.new,
                extconf('  "core/base" => %w[ring],').merge("ext/neverblock/core/base/ring.c" => "")
  end

  # --- includes

  def test_an_include_of_something_later_in_the_flow
    files = { "ext/neverblock/core/http1/a.c" => "\n#include \"server/b.h\"\n",
              "ext/neverblock/core/server/b.h" => "" }
    assert_broken Style::IncludeDirection.new, files,
                  "ext/neverblock/core/http1/a.c: 2: " \
                  "http1/ includes server/, which comes after it in the flow"
  end

  def test_an_include_without_its_folder
    files = { "ext/neverblock/core/http1/a.c" => "#include \"b.h\"\n",
              "ext/neverblock/core/http1/b.h" => "" }
    assert_broken Style::IncludeDirection.new, files, /names no file of the core/
  end

  def test_a_folder_that_has_no_place_in_the_flow
    files = { "ext/neverblock/core/magic/a.c" => "#include \"magic/a.h\"\n",
              "ext/neverblock/core/magic/a.h" => "" }
    assert_broken Style::IncludeDirection.new, files, /has no place in the flow/
  end

  def test_includes_of_the_same_folder_and_of_those_before_it
    files = { "ext/neverblock/core/http1/a.c" => "#include <stdio.h>\n" \
                                                 "#include \"http1/b.h\"\n" \
                                                 "#include \"base/c.h\"\n" \
                                                 "#include \"include/neverblock.h\"\n",
              "ext/neverblock/core/http1/b.h" => "",
              "ext/neverblock/core/base/c.h" => "#include \"os/d.h\"\n",
              "ext/neverblock/core/os/d.h" => "" }
    assert_kept Style::IncludeDirection.new, files
  end

  def test_an_include_of_a_later_room_of_the_binding
    files = { "ext/neverblock/binding/state/a.c" => "\n#include \"binding/rack/b.h\"\n",
              "ext/neverblock/binding/rack/b.h" => "" }
    assert_broken Style::IncludeDirection.new, files,
                  "ext/neverblock/binding/state/a.c: 2: " \
                  "state/ includes binding/rack/, which comes after it in the flow"
  end

  def test_an_include_of_the_binding_without_its_room
    files = { "ext/neverblock/binding/state/a.c" => "#include \"b.h\"\n" \
                                                    "#include \"state/b.h\"\n" \
                                                    "#include \"binding/state/c.h\"\n",
              "ext/neverblock/binding/state/b.h" => "" }
    assert_broken Style::IncludeDirection.new, files,
                  /a\.c: 1: "b\.h" names no file of the binding/, /a\.c: 2: "state/,
                  /a\.c: 3: "binding/
  end

  def test_a_room_that_has_no_place_in_the_flow
    files = { "ext/neverblock/binding/magic/a.c" => "#include \"binding/magic/a.h\"\n",
              "ext/neverblock/binding/magic/a.h" => "" }
    assert_broken Style::IncludeDirection.new, files, /room magic has no place in the flow/
  end

  def test_an_include_of_the_binding_in_the_core
    files = { "ext/neverblock/core/http1/a.c" => "#include \"binding/base/b.h\"\n",
              "ext/neverblock/binding/base/b.h" => "" }
    assert_broken Style::IncludeDirection.new, files, /names no file of the core/
  end

  def test_includes_of_the_same_room_of_those_before_it_and_of_the_core
    files = { "ext/neverblock/binding/rack/a.c" => "#include <ruby.h>\n" \
                                                   "#include \"binding/rack/b.h\"\n" \
                                                   "#include \"binding/base/c.h\"\n" \
                                                   "#include \"base/d.h\"\n",
              "ext/neverblock/binding/rack/b.h" => "", "ext/neverblock/binding/base/c.h" => "",
              "ext/neverblock/core/base/d.h" => "",
              "ext/neverblock/binding/all.c" => "#include \"binding/rack/b.h\"\n" }
    assert_kept Style::IncludeDirection.new, files
  end

  def test_ruby_in_the_core
    assert_broken Style::RubyFreeCore.new,
                  { "ext/neverblock/core/os/a.h" => "# include <ruby.h>\n" }, /includes ruby\.h/
    assert_broken Style::RubyFreeCore.new,
                  { "ext/neverblock/core/os/a.h" => "#include \"ruby/thread.h\"\n" },
                  /includes ruby\/thread\.h/
    assert_kept Style::RubyFreeCore.new, { "ext/neverblock/binding/a.h" => "#include <ruby.h>\n",
                                           "ext/neverblock/core/os/a.h" => "/* not ruby.h */\n" }
  end

  # --- circles

  # Files below ext/neverblock, each with what it includes.
  def sources(included)
    included.to_h do |path, names|
      ["ext/neverblock/#{path}", names.map { |name| "#include \"#{name}\"\n" }.join]
    end
  end

  def circles(allowed = {})
    Style::NoCircles.new(allowed: allowed)
  end

  # That this is all a rule says.
  def assert_says(text, rule, files)
    assert_equal ["ext/neverblock/#{text}"], judge(rule, files)
  end

  # Modules of core/os, each by a .c and a .h file, and what the .c file includes.
  def modules(included)
    sources(included.flat_map do |name, others|
      [["core/os/#{name}.h", []], ["core/os/#{name}.c", others.map { |other| "os/#{other}.h" }]]
    end.to_h)
  end

  def test_modules_that_include_each_other_one_way
    assert_kept circles, modules("a" => %w[a b c], "b" => %w[b c], "c" => %w[c])
  end

  def test_a_circle_of_two_by_their_headers
    files = sources("core/os/a.h" => %w[os/b.h], "core/os/b.h" => %w[os/a.h])
    assert_says "core/os: a -> b -> a: 2 modules in a circle", circles, files
  end

  def test_a_circle_of_three_by_their_c_files_alone
    files = modules("a" => %w[b], "b" => %w[c], "c" => %w[a])
    assert_says "core/os: a -> b -> c -> a: 3 modules in a circle", circles, files
  end

  def test_the_shortest_way_through_a_circle
    files = modules("a" => %w[b], "b" => %w[c], "c" => %w[a d], "d" => %w[c])
    assert_says "core/os: c -> d -> c: 4 modules in a circle", circles, files
  end

  def test_an_internal_header_and_c_files_without_a_header_belong_to_their_module
    files = sources("core/os/a.h" => [], "core/os/a_internal.h" => %w[os/a.h],
                    "core/os/a.c" => %w[os/a_internal.h], "core/os/b.h" => [],
                    "core/os/a_send.c" => %w[os/a_internal.h os/b.h])
    assert_kept circles, files
    back = sources("core/os/b.c" => %w[os/a_internal.h])
    assert_broken circles, files.merge(back), /os: a -> b -> a: 2/
  end

  def test_a_c_file_with_a_header_of_its_own_is_a_module
    files = sources("core/os/a.h" => [], "core/os/a.c" => %w[os/a_b.h], "core/os/a_b.h" => [],
                    "core/os/a_b_c.c" => %w[os/a.h])
    assert_broken circles, files, /os: a -> a_b -> a: 2/
  end

  def test_a_c_file_that_finds_no_header_is_a_module
    files = sources("core/os/a.h" => [], "core/os/a.c" => %w[os/ab.h], "core/os/ab.h" => [],
                    "core/os/abc.c" => %w[os/a.h os/ab.h])
    assert_kept circles, files
  end

  def test_a_circle_in_the_binding_however_the_include_is_written
    assert_broken circles, sources("binding/a.h" => %w[b.h], "binding/b.h" => %w[a.h]),
                  /binding: a -> b -> a: 2/
    files = sources("binding/x/a.h" => %w[binding/x/b.h], "binding/x/b.h" => %w[x/a.h])
    assert_broken circles, files, /binding\/x: a -> b -> a: 2/
  end

  def test_a_circle_across_folders_counts_for_the_folder_that_holds_them
    files = sources("binding/x/a.h" => %w[binding/y/b.h], "binding/y/b.h" => %w[binding/x/a.h])
    assert_says "binding: x/a -> y/b -> x/a: 2 modules in a circle", circles, files
    assert_kept circles("binding" => [2]), files
  end

  def test_a_circle_of_the_size_that_is_allowed
    assert_kept circles("core/os" => [2]), modules("a" => %w[b], "b" => %w[a])
  end

  def test_a_circle_larger_than_allowed
    files = modules("a" => %w[b], "b" => %w[c], "c" => %w[a])
    assert_broken circles("core/os" => [2]), files,
                  /os: a -> b -> c -> a: 3 modules in a circle, \[2\] allowed/
  end

  def test_a_further_circle_beside_one_that_is_allowed
    files = modules("a" => %w[b], "b" => %w[a], "c" => %w[d], "d" => %w[c])
    assert_broken circles("core/os" => [2]), files, /a -> b -> a: 2/, /c -> d -> c: 2/
    assert_kept circles("core/os" => [2, 2]), files
  end

  def test_a_circle_smaller_than_allowed_is_written_down
    files = modules("a" => %w[b], "b" => %w[a], "c" => %w[d], "d" => %w[c])
    assert_broken circles("core/os" => [5]), files,
                  /NoCircles::ALLOWED, core\/os: now \[2, 2\]: write \[2, 2\] here/
  end

  def test_a_folder_whose_last_circle_is_broken_leaves_the_table
    [modules("a" => %w[b], "b" => []), {}].each do |files|
      assert_broken circles("core/os" => [5]), files, /core\/os: no circle is left: remove it here/
    end
  end

  def test_the_graph_has_a_line_for_each_module_and_marks_circles
    Dir.mktmpdir do |root|
      write(root, modules("a" => %w[a], "b" => %w[a c], "c" => %w[b]))
      write(root, sources("core/send/d.c" => %w[os/a.h]))
      out = StringIO.new
      assert_equal 0, Style::Gate.new(%w[--graph], root: root, out: out).run
      assert_equal <<~TEXT, out.string
        core/os: 3 modules, 2 in circles
            a
          * b -> a *c
          * c -> *b
        core/send: 1 modules, 0 in circles
            d
        core/os: 2 modules in a circle: b -> c -> b
      TEXT
    end
  end

  # --- sizes of folders

  def sized(count, allowed = {})
    files = (1..count).to_h { |number| ["core/os/a#{number}.c", []] }
    judge(Style::FolderSize.new(allowed: allowed), sources(files.merge("core/os/a.h" => [])))
  end

  def test_a_folder_of_more_than_twenty_c_files
    assert_equal "ext/neverblock/core/os: 21 .c files, 20 are allowed: split it by idea",
                 sized(21).join
    assert_empty sized(20)
  end

  def test_a_folder_that_is_not_split_yet
    assert_empty sized(22, "core/os" => 22)
    assert_match(/core\/os: 23 .c files, 22 are allowed/, sized(23, "core/os" => 22).join)
  end

  def test_a_folder_that_has_fewer_files_than_allowed_is_written_down
    assert_match(/FolderSize::ALLOWED, core\/os: now 21: write 21 here/,
                 sized(21, "core/os" => 22).join)
    assert_match(/core\/os: now 20: remove it here/, sized(20, "core/os" => 22).join)
    assert_match(/core\/http1: now 0: remove it here/, sized(1, "core/http1" => 22).join)
  end

  # --- lengths

  def test_a_file_of_more_than_a_thousand_lines
    assert_broken Style::FileLength.new, { "lib/long.rb" => "#\n" * 1001 },
                  /lib\/long\.rb: 1001 lines/
    assert_kept Style::FileLength.new, { "lib/long.rb" => "#\n" * 1000 }
  end

  def test_a_file_of_tests_that_is_too_long
    assert_broken Style::TestLength.new, { "test/unit/long_test.rb" => "#\n" * 701 },
                  /701 lines, 700 are allowed/
    assert_kept Style::TestLength.new, { "test/unit/long_test.rb" => "#\n" * 700,
                                         "lib/long.rb" => "#\n" * 701 }
  end

  def test_test_classes_of_a_suite_with_the_same_name
    one = "class OneTest < Case\nend\n"
    assert_broken Style::TestNames.new,
                  { "test/unit/a/one_test.rb" => one, "test/unit/b/one_test.rb" => one },
                  /OneTest is the name of a class in test\/unit\/a\/one_test.rb too/
    assert_kept Style::TestNames.new,
                { "test/unit/one_test.rb" => one, "test/slow/one_test.rb" => one }
  end

  def test_a_comment_that_reaches_past_column_100
    word = "x" * 90
    ["/* #{word} too far */", "f(#{word}); /* too far */", "/*\n * #{word} too far\n */",
     "f(\"/*\"); /* #{word} */"].each do |text|
      assert_broken Style::CommentColumns.new, { "ext/a.c" => "#{text}\n" },
                    /a comment ends in column 1\d\d/
    end
    ["/* #{word} */", "f(\"/* #{word} too far\");", "/* near */ f(#{word}, far);",
     " * make -C #{word} far"].each do |text|
      assert_kept Style::CommentColumns.new, { "ext/a.c" => "#{text}\n" }
    end
  end

  def c_function(lines)
    "static int\nnb_long(int a)\n{\n" + ("    a++;\n" * (lines - 3)) + "}\n"
  end

  def test_a_c_function_of_more_than_seventy_lines
    assert_broken Style::FunctionLength.new, { "ext/neverblock/core/os/a.c" => c_function(71) },
                  "ext/neverblock/core/os/a.c: 2: nb_long has 71 lines, 70 is the end"
    assert_kept Style::FunctionLength.new, { "ext/neverblock/core/os/a.c" => c_function(70) * 2 }
  end

  def test_a_c_function_of_more_than_forty_lines_is_a_hint
    Dir.mktmpdir do |root|
      FileUtils.mkdir_p(File.join(root, "ext"))
      File.write(File.join(root, "ext/a.c"), c_function(41) + c_function(40))
      assert_equal ["nb_long has 41 lines, aim under 40"],
                   Style::FunctionLength.new.hints(Style::Tree.new(root)).map(&:message)
    end
  end

  # --- words

  def test_a_note_to_oneself
    note = %w[TO DO].join
    assert_broken Style::NoLeftovers.new, { "lib/a.rb" => "# #{note}: later\n" },
                  /left over: #{note}/
    assert_broken Style::NoLeftovers.new, { "lib/a.rb" => "#{"<" * 7} HEAD\n" }, /left over/
    assert_kept Style::NoLeftovers.new, { "lib/a.rb" => "todo = 1\n" }
  end

  def test_a_host_of_a_package_source
    rule = Style::MachineNames.new(hosts: ["gems.example.org"])
    assert_broken rule, { "Gemfile" => "source \"https://gems.example.org\"\n" },
                  /Gemfile: 1: names gems\.example\.org/
    assert_kept rule, { "Gemfile" => "source Gem.sources.to_a.first\n" }
  end

  def test_hosts_are_those_this_machine_is_configured_with
    hosts = Style::MachineNames.new.configured_hosts
    Gem.sources.each { |source| assert_includes hosts, URI(source.to_s).host }
  end

  def test_a_path_of_a_machine
    rule = Style::MachineNames.new(hosts: [])
    shared = Style::MachineNames::SHARED_FOLDERS.first
    assert_broken rule, { "README.md" => "see /#{shared}/notes\n" }, /README\.md: 1: names/
    assert_kept rule, { "README.md" => "see lib/#{shared}/notes and ../#{shared}/x\n" }
  end

  # --- tools

  def test_c_that_clang_format_would_lay_out_differently
    config = { ".clang-format" => File.read(CLANG_FORMAT) }
    assert_broken Style::ClangFormat.new, config.merge("ext/a.c" => "int  a( void ){return 1;}\n"),
                  /ext\/a\.c: 1: code should be clang-formatted/
    assert_kept Style::ClangFormat.new, config.merge("ext/a.c" => "int a(void) { return 1; }\n")
  end

  def test_ruby_that_rubocop_refuses
    config = { ".rubocop.yml" => File.read(RUBOCOP) }
    assert_broken Style::RuboCop.new, config.merge("lib/a.rb" => "a = 1\n"),
                  /lib\/a\.rb: 1: .*Lint\/UselessAssignment/, /FrozenStringLiteralComment/
    assert_kept Style::RuboCop.new,
                config.merge("lib/a.rb" => "# frozen_string_literal: true\n\nputs 1\n")
  end

  def test_a_signature_of_an_unknown_type
    assert_broken Style::Signatures.new,
                  { "sig/a.rbs" => "class A\n  def a: () -> Nowhere\nend\n" }, /Nowhere/
    assert_broken Style::Signatures.new,
                  { "sig/a.rbs" => "class A\nend\n",
                    "bench/sig/b.rbs" => "class B < A\n  def b: () -> Nowhere\nend\n" },
                  /Nowhere/
    assert_kept Style::Signatures.new, { "sig/a.rbs" => "class A\n  def a: () -> Integer\nend\n" }
  end

  def test_a_shell_script_with_a_fault
    assert_broken Style::ShellCheck.new, { "bin/a" => "#!/bin/sh\ncd $1\n" }, /bin\/a: 2: .*SC/
    assert_kept Style::ShellCheck.new, { "bin/a" => "#!/bin/sh\ncd \"$1\" || exit\n" }
  end

  def core(text)
    { "test/c/Makefile" => File.read(File.join(Style::Gate::ROOT, "test/c/Makefile")),
      "ext/neverblock/core/base/a.c" => text }
  end

  def test_a_warning_in_the_core_under_each_compiler
    assert_broken Style::CoreWarnings.new, core("int a(long b);\nint a(long b) { return b; }\n"),
                  /base\/a\.c: 2: gcc:/, /base\/a\.c: 2: clang:/
    assert_kept Style::CoreWarnings.new, core("int a(long b);\nint a(long b) { return (int)b; }\n")
  end

  def test_a_warning_in_the_binding_under_each_compiler
    path = "ext/neverblock/binding/a.c"
    text = "#include <ruby.h>\nint a(VALUE b);\nint a(VALUE b) { return %s; }\n"
    assert_broken Style::BindingWarnings.new, { path => format(text, "b") },
                  /binding\/a\.c: 3: gcc:/, /binding\/a\.c: 3: clang:/
    assert_kept Style::BindingWarnings.new, { path => format(text, "NUM2INT(b)") }
  end

  # What has passed is remembered, for this file with these headers.
  def test_a_file_of_the_binding_that_has_passed_is_compiled_again_when_a_header_has_changed
    Dir.mktmpdir do |root|
      folder = File.join(root, "ext/neverblock/binding")
      FileUtils.mkdir_p(folder)
      File.write(File.join(folder, "a.c"), "#include \"binding/a.h\"\nint a(N b) { return b; }\n")
      write = ->(type) { File.write(File.join(folder, "a.h"), "typedef #{type} N;\nint a(N b);\n") }
      write.call("int")
      2.times { assert_empty judged(root) }
      assert_equal 2, File.readlines(File.join(root, "build/check/binding-passed")).size
      write.call("long")
      2.times { assert_equal 2, judged(root).size }
      write.call("int")
      assert_empty judged(root)
    end
  end

  def judged(root)
    Style::BindingWarnings.new.violations(Style::Tree.new(root))
  end

  def test_times_of_rules_are_shown_when_they_are_asked_for
    Dir.mktmpdir do |root|
      out = StringIO.new
      assert_equal 0, Style::Gate.new(%w[--times FileLength], root: root, out: out).run
      assert_match(/^     \d+\.\d s, \d+\.\d s of processors$/, out.string)
    end
  end

  # --- the gate itself

  def test_the_gate_counts_broken_rules_and_exits_with_1
    Dir.mktmpdir do |root|
      FileUtils.mkdir_p(File.join(root, "lib"))
      File.write(File.join(root, "lib/long.rb"), "#\n" * 1001)
      out = StringIO.new
      assert_equal 1, Style::Gate.new(%w[FileLength RubyFreeCore], root: root, out: out).run
      assert_match(/1 of 2 rules are broken/, out.string)
      assert_equal 0, Style::Gate.new(%w[RubyFreeCore], root: root, out: StringIO.new).run
    end
  end

  def test_the_gate_refuses_a_rule_it_does_not_know
    _, errors = capture_io { assert_equal 1, Style::Gate.new(%w[Beauty], out: StringIO.new).run }
    assert_match(/unknown Beauty/, errors)
  end

  Style::Gate::RULES.each do |rule|
    define_method(:"test_this_tree_keeps_#{rule.name.split("::").last}") do
      tree = Style::Tree.new(Style::Gate::ROOT)
      assert_equal "", rule.new.violations(tree).join("\n"), rule::ABOUT
    end
  end
end
