# frozen_string_literal: true

module Style
  # Modules of C (see ModuleGraph) include each other in one direction only, within a folder and
  # across folders.
  #
  # ALLOWED names the folders whose circles are not broken yet, with the number of modules in each
  # circle, the largest first. A circle counts for the innermost folder that holds all of it.
  # The table has to say what is there, so its numbers only go down.
  class NoCircles
    ABOUT = "modules of C include each other without a circle (--graph shows them)"
    PATH = "test/support/style/folder_rules.rb"
    ALLOWED = {}.freeze

    # @param allowed [Hash{String => Array<Integer>}] sizes of circles by folder
    def initialize(allowed: ALLOWED)
      @allowed = allowed
    end

    def violations(tree)
      graph = ModuleGraph.new(tree)
      circles = graph.circles.group_by { |names| ModuleGraph.home(names) }
      (circles.keys | @allowed.keys).flat_map do |folder|
        judge(folder, circles.fetch(folder, []), GraphText.new(graph))
      end
    end

    private

    def judge(folder, circles, text)
      allowed = @allowed.fetch(folder, [])
      now = circles.map(&:size)
      return [] if now == allowed
      return [stale(folder, now)] unless worse?(now, allowed)

      circles.map { |names| Violation.new(path(folder), nil, breach(names, allowed, text)) }
    end

    # A circle that falls into two is better, and a further circle beside it is not.
    def worse?(now, allowed)
      now.sum > allowed.sum || now.max.to_i > allowed.max.to_i
    end

    def path(folder)
      [ModuleGraph::SOURCES, folder].reject(&:empty?).join("/")
    end

    def breach(names, allowed, text)
      bound = ", #{allowed} allowed" unless allowed.empty?
      "#{text.way(names)}: #{names.size} modules in a circle#{bound}"
    end

    def stale(folder, now)
      mend = now.empty? ? "no circle is left: remove it here" : "now #{now}: write #{now} here"
      Violation.new(PATH, nil, "NoCircles::ALLOWED, #{folder}: #{mend}")
    end
  end

  # A folder is read as a whole.
  #
  # ALLOWED names the folders that are not split yet, with the number of their .c files.
  # The table has to say what is there, so its numbers only go down.
  class FolderSize
    FILES_MAX = 20
    ABOUT = "no folder of ext/neverblock/core and binding has more than #{FILES_MAX} .c files"
    ALLOWED = {}.freeze

    # @param allowed [Hash{String => Integer}] numbers of .c files by folder
    def initialize(allowed: ALLOWED)
      @allowed = allowed
    end

    def violations(tree)
      folders = ModuleGraph.folders(tree)
      (folders.keys | @allowed.keys).filter_map do |folder|
        judge(folder, folders.fetch(folder, []).grep(/\.c\z/).size)
      end
    end

    private

    def judge(folder, now)
      allowed = @allowed.fetch(folder, FILES_MAX)
      return excess(folder, now, allowed) if now > allowed

      stale(folder, now) if @allowed.key?(folder) && now < allowed
    end

    def excess(folder, now, allowed)
      Violation.new("#{ModuleGraph::SOURCES}/#{folder}", nil,
                    "#{now} .c files, #{allowed} are allowed: split it by idea")
    end

    def stale(folder, now)
      mend = now > FILES_MAX ? "write #{now} here" : "remove it here"
      Violation.new(NoCircles::PATH, nil, "FolderSize::ALLOWED, #{folder}: now #{now}: #{mend}")
    end
  end
end
