# frozen_string_literal: true

# The variables of all classes and modules, before and after: which of them hold something else, or more.

require "set"

module NeverBlock
  module Check
    class Probe
      class ClassState
        # A variable (@x, @@x) of a module that has been changed. own: whether the module is the application's.
        Change = Struct.new(:owner, :variable, :own, :place) do
          def own?
            own
          end

          def to_s
            "#{owner}.#{variable}"
          end
        end

        # Not looked at: ourselves, Ruby's own and what loads code.
        OTHERS = /\A(?:NeverBlock|Bundler|Gem|RubyVM|ObjectSpace|Zeitwerk|Bootsnap|DEBUGGER__|ErrorHighlight|DidYouMean|Rack::Mock|Monitor)\b/.freeze
        NAME = Module.instance_method(:name)
        SIZED = [Array, Hash, Set, String].freeze
        private_constant :NAME, :SIZED

        # @param root [String] the application's folder
        def initialize(root)
          @root = root
        end

        # @return [Hash{Module => Hash{Symbol => Array}}] what each variable holds: the object, and its size
        def take
          ObjectSpace.each_object(Module).each_with_object({}.compare_by_identity) do |owner, found|
            next if owner.singleton_class? || (name = NAME.bind_call(owner)).nil? || name.match?(OTHERS)

            variables = variables_of(owner)
            found[owner] = variables unless variables.empty?
          end
        end

        # @return [Array<Change>]
        def difference(before, after)
          after.flat_map do |owner, variables|
            earlier = before[owner] || {}
            variables.filter_map { |name, held| change(owner, name) unless same?(earlier[name], held) }
          end
        end

        private

        def variables_of(owner)
          found = owner.instance_variables.to_h { |name| [name, held(owner.instance_variable_get(name))] }
          owner.class_variables(false).each { |name| found[name] = held(owner.class_variable_get(name)) }
          found
        rescue NameError # a class variable that another module has overtaken
          found || {}
        end

        def held(value)
          [value, SIZED.any? { |type| type === value } ? value.size : nil]
        end

        def same?(earlier, now)
          !earlier.nil? && earlier[0].equal?(now[0]) && earlier[1] == now[1]
        end

        def change(owner, variable)
          name = NAME.bind_call(owner)
          file, line = Object.const_source_location(name)
          file &&= File.expand_path(file)
          own = !file.nil? && file.start_with?("#{@root}/") && !file.match?(%r{/(?:gems|vendor)/})
          Change.new(name, variable, own, place(owner, variable, file, line))
        rescue NameError
          Change.new(name, variable, false, nil)
        end

        # The line that sets it, where that is in a method of the module; else where the module is.
        def place(owner, variable, file, line)
          found = setter(owner, variable) || [file, line]
          found[0] ? "#{found[0].delete_prefix("#{@root}/")}:#{found[1]}" : "?"
        end

        def setter(owner, variable)
          methods = owner.singleton_methods(false).map { |name| owner.method(name) } + owner.instance_methods(false).map { |name| owner.instance_method(name) }
          methods.each do |method|
            line = line_of(method, variable)
            return [File.expand_path(method.source_location.first), line] if line
          end
          nil
        end

        # As `ruby --dump=insns` has it: 0003 setinstancevariable :@name, <is:0>   (  12)[Li]; a line's number is told where it begins.
        def line_of(method, variable)
          code = RubyVM::InstructionSequence.of(method) or return
          line = nil
          code.disasm.each_line do |text|
            line = text[/\(\s*(\d+)\)/, 1] || line
            return line if text.match?(/\b(?:setinstancevariable|setclassvariable)\s+:#{Regexp.escape(variable)}[,\s]/)
          end
          nil
        end
      end
    end
  end
end
