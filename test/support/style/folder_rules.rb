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
    ALLOWED = { "binding" => [22], "core/os" => [2, 2], "core/server" => [20] }.freeze

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
end
