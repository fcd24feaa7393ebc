# frozen_string_literal: true

require "pathname"
require "tsort"

module Style
  # The modules of the C below ext/neverblock, and which includes which.
  #
  # A module is a header and the .c files that belong to it, all in one folder. `a_internal.h`
  # belongs to module `a`. Any other file belongs to the longest name of a header that is its own
  # name, or that begins its own name up to a `_`. So `a.c`, and `a_b.c` where no `a_b.h` exists,
  # belong to `a`. A .c file that finds no header is a module of its own.
  # A module is named with its folder: "core/poll/poll".
  class ModuleGraph
    include TSort

    SOURCES = "ext/neverblock"
    SEARCHED = %w[core binding .].freeze # the -I of extconf.rb
    INTERNAL = "_internal"

    # @return [Hash{String => Array<String>}] .c and .h files by folder, all without ext/neverblock
    def self.folders(tree)
      tree.matching("#{SOURCES}/{core,binding}/**/*.{c,h}")
          .map { |path| path.delete_prefix("#{SOURCES}/") }.group_by { |path| File.dirname(path) }
    end

    # @return [String] the innermost folder that holds all of these modules
    def self.home(names)
      names.map { |name| File.dirname(name).split("/") }
           .reduce { |one, other| one.zip(other).take_while { |a, b| a == b }.map(&:first) }
           .join("/")
    end

    def initialize(tree)
      @tree = tree
      @files = self.class.folders(tree)
      @headers = @files.transform_values do |paths|
        paths.grep(/\.h\z/).map { |path| name(path) }.uniq
      end
    end

    # @return [Hash{String => Array<String>}] what each module includes of others, both in order
    def edges
      @edges ||= @files.values.flatten.group_by { |path| owner(path) }.sort.to_h do |name, paths|
        [name, paths.flat_map { |path| included(path) }.uniq.sort - [name]]
      end
    end

    # @return [Array<Array<String>>] sets of modules that reach each other, the largest first
    def circles
      @circles ||= strongly_connected_components.select { |names| names.size > 1 }.map(&:sort)
                                                .sort_by { |names| [-names.size, names] }
    end

    # @param names [Array<String>] one of the circles
    # @return [Array<String>] the shortest way through it, the first module again at its end
    def shortest(names)
      names.map { |start| way_back(start, names) }.min_by(&:size)
    end

    private

    def tsort_each_node(&block)
      edges.each_key(&block)
    end

    def tsort_each_child(name, &block)
      edges.fetch(name).each(&block)
    end

    def name(path)
      path.delete_suffix(File.extname(path)).delete_suffix(INTERNAL)
    end

    def owner(path)
      own = name(path)
      headers = @headers.fetch(File.dirname(path))
      headers.select { |header| "#{own}_".start_with?("#{header}_") }.max_by(&:size) || own
    end

    def included(path)
      @tree.includes("#{SOURCES}/#{path}").filter_map do |_, written|
        found = places(path, written).find { |place| there?(place) }
        owner(found) if found
      end
    end

    # Where a compiler looks, in its order.
    def places(path, written)
      [File.dirname(path), *SEARCHED].map { |from| Pathname(from).join(written).cleanpath.to_s }
    end

    def there?(path)
      @files.fetch(File.dirname(path), []).include?(path)
    end

    # Ways grow by one module a round, so the first that comes back is the shortest.
    def way_back(start, names)
      ways = [[start]]
      until (back = ways.find { |way| way.size > 1 && way.last == start })
        ways = ways.flat_map { |way| longer(way, names) }.uniq(&:last)
        names -= ways.map(&:last)
      end
      back
    end

    def longer(way, names)
      (edges.fetch(way.last) & names).map { |name| way + [name] }
    end
  end

  # A graph as lines to read. A star marks a module in a circle, and an include that keeps it there.
  class GraphText
    # @param graph [ModuleGraph]
    def initialize(graph)
      @graph = graph
    end

    # @return [Array<String>] each folder, its modules, and what they include of the same folder
    def lines
      folders = @graph.edges.keys.group_by { |name| File.dirname(name) }
      folders.flat_map { |folder, names| [title(folder, names), *names.map { |name| row(name) }] } +
        @graph.circles.map { |names| circle(names) }
    end

    # @param names [Array<String>] a circle of the graph
    def circle(names)
      "#{ModuleGraph.home(names)}: #{names.size} modules in a circle: #{way(names)}"
    end

    # @return [String] the shortest circle, "a -> b -> a"
    def way(names)
      home = ModuleGraph.home(names)
      @graph.shortest(names).map { |name| name.delete_prefix("#{home}/") }.join(" -> ")
    end

    private

    def title(folder, names)
      "#{folder}: #{names.size} modules, #{(names & @graph.circles.flatten).size} in circles"
    end

    def row(name)
      mates = @graph.circles.find { |names| names.include?(name) }.to_a
      others = @graph.edges.fetch(name).filter_map do |other|
        word(other, File.dirname(name), mates)
      end
      others.unshift("->") if others.any?
      ["  #{mates.empty? ? " " : "*"}", File.basename(name), *others].join(" ")
    end

    # Of another folder only what is in the same circle.
    def word(other, folder, mates)
      star = "*" if mates.include?(other)
      "#{star}#{other.delete_prefix("#{folder}/")}" if star || File.dirname(other) == folder
    end
  end
end
