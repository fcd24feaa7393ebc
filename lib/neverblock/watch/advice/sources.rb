# frozen_string_literal: true

# The application's source files: each is parsed once, and its methods are found by name. What a
# call may read and write beyond its arguments is that of all methods of its name.

require "neverblock/watch/advice/code"
require "neverblock/watch/advice/uses"

module NeverBlock
  module Watch
    module Advice
      class Sources
        # More files are not looked into.
        FILES_MAX = 3000
        FOLDERS = %w[app lib config].freeze
        READERS = %i[attr_reader attr_accessor cattr_accessor mattr_accessor].freeze
        STATE = /\A(@|\$|Thread\.current|::)|#/

        # reads, writes: names as in Uses.
        # acts: one of them may raise, or do what cannot be seen in the text.
        # sums: names that are only added to, and not in `writes`.
        State = Struct.new(:reads, :writes, :sums, :acts)

        # @param paths [Array<String>] files of observed frames
        def initialize(paths)
          @paths = paths
          @codes = {}
          @states = {}
        end

        # @param path [String]
        # @return [Code, nil]
        def code(path)
          @codes.fetch(path) { @codes[path] = Code.read(path) }
        end

        # @param names [Enumerable<String>] "#name" of calls; others are left out
        # @return [State] of all methods that may be called, those that they call included
        def state(names)
          found = State.new(Set.new, Set.new, Set.new, false)
          seen = Set.new
          queue = names.select { |name| name.include?("#") }
          while (name = queue.shift)
            next unless seen.add?(name)

            own = of_name(name) or next
            found.reads.merge(own.reads)
            found.writes.merge(own.writes)
            found.sums.merge(own.sums)
            found.acts ||= own.acts
            queue.concat(own.reads.select { |read| read.include?("#") })
          end
          found
        end

        # @param names [Enumerable<String>] "#name" of calls; others are left out
        # @return [Array<Uses>] of each method that may be called, without those that it calls
        def pieces(names)
          found = names.select { |name| name.include?("#") }
                       .flat_map { |name| bodies_of(*name.split("#", 2)).to_a }
          found.uniq.map { |body| Uses.of(body) }
        end

        # @return [Boolean] whether the application has a method of this name
        def defined?(name)
          definitions.key?(name)
        end

        private

        def of_name(name)
          @states.fetch(name) { @states[name] = build(*name.split("#", 2)) }
        end

        # @param owner [String] a constant; "": any class
        def build(owner, name)
          bodies = bodies_of(owner, name)
          read = attributes.include?(name) && (owner.empty? || @owners.include?(owner))
          return unless bodies || read

          state = State.new(Set.new(read ? ["@#{name}"] : []), Set.new, Set.new, false)
          bodies&.each do |body|
            uses = Uses.of(body)
            state.reads.merge(uses.reads.grep(STATE))
            state.writes.merge((uses.writes - uses.sums).grep(STATE))
            state.sums.merge(uses.sums)
            state.acts ||= uses.leaves? || uses.blind?
          end
          state
        end

        # Of a constant that the application defines, its own methods; where it has none of that
        # name, those that it may have got from others.
        def bodies_of(owner, name)
          found = definitions[name]
          return found&.map(&:last) if owner.empty?
          return if found.nil? || !@owners.include?(owner)

          own = found.select { |other, _| other == owner }
          (own.empty? ? found : own).map(&:last)
        end

        # @return [Hash{String => Array<Array(String, Prism::Node)>}] owners and bodies of methods
        def definitions
          scan unless @definitions
          @definitions
        end

        def attributes
          scan unless @attributes
          @attributes
        end

        def scan
          @definitions = {}
          @attributes = Set.new
          @owners = Set.new
          files.each { |path| code(path)&.then { |code| learn(code) } }
        end

        def learn(code)
          code.methods.each do |method|
            pieces = [method.parameters, method.body].compact
            add(method.name.to_s, code.owner(method), pieces)
          end
          @owners.merge(code.owners)
          code.each_call do |call|
            names = literals(call)
            @attributes.merge(names) if READERS.include?(call.name)
            next unless call.name == :define_method && names.any? && call.block

            add(names.first, code.owner(call), [call.block.body]) if call.block.respond_to?(:body)
          end
        end

        def add(name, owner, pieces)
          (@definitions[name] ||= []).concat(pieces.map { |piece| [owner, piece] })
        end

        def literals(call)
          symbols = call.arguments&.arguments.to_a.grep(Prism::SymbolNode)
          symbols.map { |symbol| symbol.unescaped.to_s }
        end

        def files
          roots = @paths.map { |path| root_of(path) }.uniq
          inside = roots.flat_map do |root|
            Dir.glob("#{root}/{#{FOLDERS.join(",")}}/**/*.rb") + Dir.glob("#{root}/*.{rb,ru}")
          end
          (@paths + inside).uniq.first(FILES_MAX)
        end

        # Above app/, lib/ or config/; else the file's folder.
        def root_of(path)
          path[%r{\A(.*?)/(?:#{FOLDERS.join("|")})/}, 1] || File.dirname(path)
        end
      end
    end
  end
end
