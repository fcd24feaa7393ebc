# frozen_string_literal: true

module Style
  # Includes of the core, and of the binding, point to the same folder or to one above it in the
  # data flow, and name their folder.
  class IncludeDirection
    ABOUT = "an include points to the same folder or to one above it in the data flow"
    # base and os serve each other (a log line needs the clock), so they share a step.
    FLOW = {
      "base" => 0, "os" => 0, "poll" => 1, "sendfile" => 1, "mysql" => 1, "stall" => 1,
      "tls" => 1,
      "transport" => 2, "http" => 2, "http1" => 3, "http2" => 3, "intake" => 4, "files" => 5,
      "coding" => 6,
      "send" => 6, "dispatch" => 7, "metrics" => 8, "responses" => 9, "connection" => 10,
      "protocols" => 11, "loop" => 12, "admin" => 13, "server" => 14
    }.freeze
    # The rooms of the binding, the lowest first. Its own files, which define everything, come after
    # them. All of them may include the core.
    ROOMS = %w[
      base mysql engine state fibers scheduler timeslices hooks ports rack stalls executor
    ].freeze
    CORE = "ext/neverblock/core"
    BINDING = "ext/neverblock/binding"
    PUBLIC = "include/neverblock.h" # beside the core, with nothing of it

    def violations(tree)
      judged(tree, CORE) { |own, included| breach_in_core(tree, own, included) } +
        judged(tree, BINDING) { |own, included| breach_in_binding(tree, own, included) }
    end

    private

    def judged(tree, root)
      tree.matching("#{root}/**/*.{c,h}").flat_map do |path|
        own = path.delete_prefix("#{root}/").split("/")[0..-2].first
        tree.includes(path).filter_map do |line, included|
          reason = yield(own, included)
          Violation.new(path, line, reason) if reason
        end
      end
    end

    def breach_in_core(tree, own, included)
      return if included == PUBLIC

      folder = included.split("/").first
      unless tree.files.include?("#{CORE}/#{included}")
        return "\"#{included}\" names no file of the core; " \
               "write the folder too: \"base/status.h\""
      end
      unless FLOW.key?(own)
        return "folder #{own} has no place in the flow: add it to IncludeDirection::FLOW"
      end

      return unless FLOW.fetch(folder, 99) > FLOW.fetch(own)

      "#{own}/ includes #{folder}/, which comes after it in the flow"
    end

    # own: nil for a file of no room.
    def breach_in_binding(tree, own, included)
      if own && !ROOMS.include?(own)
        return "room #{own} has no place in the flow: add it to IncludeDirection::ROOMS"
      end
      return if included == PUBLIC || tree.files.include?("#{CORE}/#{included}")

      room = included[%r{\Abinding/([^/]+)/[^/]+\z}, 1]
      unless room && tree.files.include?("ext/neverblock/#{included}")
        return "\"#{included}\" names no file of the binding or the core; " \
               "write the room too: \"binding/base/module.h\""
      end

      return unless own && ROOMS.index(room).to_i > ROOMS.index(own)

      "#{own}/ includes binding/#{room}/, which comes after it in the flow"
    end
  end

  # Only the binding sees Ruby.
  class RubyFreeCore
    ABOUT = "no file of the core includes ruby.h or anything of Ruby's"
    RUBY = /\A\s*#\s*include\s+[<"](ruby\.h|ruby\/[^>"]+)[>"]/

    def violations(tree)
      tree.matching("ext/neverblock/{core,include}/**/*.{c,h}").flat_map do |path|
        tree.lines(path).each_with_index.filter_map do |line, index|
          next unless line =~ RUBY

          Violation.new(path, index + 1, "includes #{$1}; only ext/neverblock/binding may")
        end
      end
    end
  end

  # A file is one idea.
  class FileLength
    ABOUT = "no source file is longer than 1000 lines"
    LINES_MAX = 1000

    def violations(tree)
      tree.matching("**/*.{c,h,rb,ru,rbs}", "bin/*", ".ci/*").filter_map do |path|
        lines = tree.lines(path).size
        next unless lines > LINES_MAX

        Violation.new(path, nil, "#{lines} lines, #{LINES_MAX} are allowed: split it by idea")
      end
    end
  end

  # Tests are read one suite at a time.
  class TestLength
    ABOUT = "no file of tests is longer than 700 lines"
    LINES_MAX = 700

    def violations(tree)
      tree.matching("test/**/*.{c,h,rb}").filter_map do |path|
        lines = tree.lines(path).size
        next if lines <= LINES_MAX

        Violation.new(path, nil, "#{lines} lines, #{LINES_MAX} are allowed: split it by suite")
      end
    end
  end

  # The files of a suite are loaded into one process.
  class TestNames
    ABOUT = "no two files of a Ruby suite have a test class of the same name"
    NAMED = /^class (\w+Test)\b/.freeze

    def violations(tree)
      tree.matching("test/*/**/*_test.rb").group_by { |path| path.split("/")[1] }
          .flat_map { |_, paths| shared(tree, paths) }
    end

    private

    def shared(tree, paths)
      named = paths.flat_map do |path|
        tree.lines(path).filter_map { |line| line[NAMED, 1] }.uniq.map { |name| [name, path] }
      end
      named.group_by(&:first).flat_map do |name, found|
        found.drop(1).map do |_, path|
          Violation.new(path, nil, "#{name} is the name of a class in #{found.first.last} too")
        end
      end
    end
  end

  # Prose is read more easily in short lines than code is.
  class CommentColumns
    ABOUT = "no comment in C reaches past column 100"
    COLUMNS_MAX = 100
    # A comment, or a string, in which nothing opens one.
    PART = %r{"(?:\\.|[^"\\])*"|/\*.*?\*/|/\*.*}.freeze
    COMMAND = /\A \* .*\bmake\b|\\\z/.freeze

    def violations(tree)
      tree.matching("{ext,test,examples,benchmark}/**/*.{c,h}").flat_map do |path|
        long_comments(tree.lines(path)).map do |line, columns|
          Violation.new(path, line,
                        "a comment ends in column #{columns}: wrap it at #{COLUMNS_MAX}")
        end
      end
    end

    private

    def long_comments(lines)
      inside = false
      lines.each_with_index.filter_map do |line, index|
        columns, inside = comment_end(line.chomp, inside)
        [index + 1, columns] if columns > COLUMNS_MAX && !line.match?(COMMAND)
      end
    end

    # @return [Array(Integer, Boolean)] the column where the line's last comment ends, and whether
    #   that goes on in the next line
    def comment_end(line, inside)
      from = 0
      columns = 0
      if inside
        close = line.index("*/")
        return [line.size, true] unless close

        from = columns = close + 2
      end
      while (part = PART.match(line, from))
        from = part.end(0)
        next if part[0].start_with?('"')

        columns = from
        return [columns, true] unless part[0].size > 3 && part[0].end_with?("*/")
      end
      [columns, false]
    end
  end

  # Functions in C end at 70 lines. Beyond 40 they are named as a hint. Relies on the layout
  # clang-format gives: a function begins in column 0 with its brace at the end of the line, and
  # ends with a brace in column 0.
  class FunctionLength
    ABOUT = "no C function is longer than 70 lines; over 40 is a hint"
    LINES_MAX = 70
    LINES_AIM = 40

    def violations(tree)
      longer_than(tree, LINES_MAX).map do |path, line, name, lines|
        Violation.new(path, line, "#{name} has #{lines} lines, #{LINES_MAX} is the end")
      end
    end

    def hints(tree)
      hinted = longer_than(tree, LINES_AIM).reject { |*, lines| lines > LINES_MAX }
      hinted.map do |path, line, name, lines|
        Violation.new(path, line, "#{name} has #{lines} lines, aim under #{LINES_AIM}")
      end
    end

    private

    def longer_than(tree, bound)
      tree.matching("ext/**/*.{c,h}").flat_map do |path|
        functions(tree.lines(path)).filter_map do |line, name, lines|
          [path, line, name, lines] if lines > bound
        end
      end
    end

    def functions(lines)
      start = name = nil
      lines.each_with_index.with_object([]) do |(line, index), found|
        if line =~ /\A(?=[A-Za-z_]).*?\b(\w+)\(/ && !line.match?(/\A(typedef|struct|enum|union|#)/)
          name = Regexp.last_match(1)
          start = index
        end
        next unless line.start_with?("}") && start

        found << [start + 1, name, index - start + 1]
        start = nil
      end
    end
  end

  # Notes to oneself stay off main.
  class NoLeftovers
    ABOUT = "no notes to oneself, no conflict marks"
    LEFT = /\b(#{%w[TO FIX].zip(%w[DO ME]).map(&:join).join("|")})\b|^(<{7}|>{7}) /

    def violations(tree)
      tree.matching("**/*.{c,h,rb,ru,rbs,sh,md}", "bin/*", ".ci/*").flat_map do |path|
        tree.lines(path).each_with_index.filter_map do |line, index|
          Violation.new(path, index + 1, "left over: #{$&}") if line =~ LEFT
        end
      end
    end
  end
end
