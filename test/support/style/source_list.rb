# frozen_string_literal: true

module Style
  # The sources extconf.rb names are the sources there are, and their basenames are unique: the
  # objects share one folder.
  class SourceList
    ABOUT = "ext/neverblock/extconf.rb names every .c file, and no other; basenames are unique"
    EXTCONF = "ext/neverblock/extconf.rb"

    def violations(tree)
      listed = listed(tree)
      found = tree.matching("ext/neverblock/**/*.c")
                  .map { |path| path.delete_prefix("ext/neverblock/") }
      unlisted = (found - listed).map do |path|
        Violation.new("ext/neverblock/#{path}", nil, "is not in SOURCES of #{EXTCONF}")
      end
      absent = (listed - found).map do |path|
        Violation.new(EXTCONF, nil, "SOURCES names #{path}, which does not exist")
      end
      unlisted + absent + doubles(found)
    end

    private

    # The literal between "SOURCES = {" and "}.freeze", read without running the rest of the file.
    def listed(tree)
      tree.read(EXTCONF)[/^SOURCES = (\{.*?^\})\.freeze$/m, 1].scan(/"([^"]+)" => %w\[(.*?)\]/m)
          .flat_map { |folder, names| names.split.map { |name| "#{folder}/#{name}.c" } }
    end

    def doubles(found)
      groups = found.group_by { |path| File.basename(path) }.values
      groups.select { |paths| paths.size > 1 }.map do |paths|
        Violation.new("ext/neverblock/#{paths.last}", nil, "has the basename of #{paths.first}")
      end
    end
  end
end
