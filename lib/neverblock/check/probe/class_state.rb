# frozen_string_literal: true

# The variables of all classes and modules, compared before and after a request: those that hold
# another object, or an object of another size.

require "set"

module NeverBlock
  module Check
    class Probe
      class ClassState
        # A changed variable (@x, @@x) of a module. own: whether the module belongs to the
        # application.
        Change = Struct.new(:owner, :variable, :own, :place) do
          def own?
            own
          end

          def to_s
            "#{owner}.#{variable}"
          end
        end

        # Modules that are not compared: our own, Ruby's own, and those that load code.
        OTHERS = /\A(?:
          NeverBlock|Bundler|Gem|RubyVM|ObjectSpace|Zeitwerk|Bootsnap|DEBUGGER__|ErrorHighlight|
          DidYouMean|Rack::Mock|Monitor
        )\b/x.freeze
        NAME = Module.instance_method(:name)
        SIZED = [Array, Hash, Set, String].freeze
        private_constant :NAME, :SIZED

        # @param root [String] the application's folder
        def initialize(root)
          @root = root
        end

        # @return [Hash{Module => Hash{Symbol => Array}}] for each variable: the object, and its
        #   size
        def take
          modules = ObjectSpace.each_object(Module)
          modules.each_with_object({}.compare_by_identity) do |owner, found|
            next if ignored?(owner)

            variables = variables_of(owner)
            found[owner] = variables unless variables.empty?
          end
        end

        # @return [Array<Change>]
        def difference(before, after)
          after.flat_map do |owner, variables|
            earlier = before[owner] || {}
            variables.filter_map do |name, value|
              change(owner, name) unless same?(earlier[name], value)
            end
          end
        end

        private

        def ignored?(owner)
          return true if owner.singleton_class?

          name = NAME.bind_call(owner)
          name.nil? || name.match?(OTHERS)
        end

        def variables_of(owner)
          found = owner.instance_variables.to_h do |name|
            [name, measured(owner.instance_variable_get(name))]
          end
          owner.class_variables(false).each do |name|
            found[name] = measured(owner.class_variable_get(name))
          end
          found
        rescue NameError # a class variable that another module also has
          found || {}
        end

        def measured(value)
          [value, SIZED.any? { |type| type === value } ? value.size : nil]
        end

        def same?(earlier, now)
          !earlier.nil? && earlier[0].equal?(now[0]) && earlier[1] == now[1]
        end

        def change(owner, variable)
          name = NAME.bind_call(owner)
          file, line = Object.const_source_location(name)
          file &&= File.expand_path(file)
          Change.new(name, variable, own?(file), place(owner, variable, file, line))
        rescue NameError
          Change.new(name, variable, false, nil)
        end

        def own?(file)
          return false if file.nil?

          file.start_with?("#{@root}/") && !file.match?(%r{/(?:gems|vendor)/})
        end

        # The line of a method of the module that sets the variable; else the place of the module.
        def place(owner, variable, file, line)
          found = setter(owner, variable) || [file, line]
          found[0] ? "#{found[0].delete_prefix("#{@root}/")}:#{found[1]}" : "?"
        end

        def setter(owner, variable)
          methods = owner.singleton_methods(false).map { |name| owner.method(name) } +
                    owner.instance_methods(false).map { |name| owner.instance_method(name) }
          methods.each do |method|
            line = line_of(method, variable)
            return [File.expand_path(method.source_location.first), line] if line
          end
          nil
        end

        # Reads the output of `ruby --dump=insns`: 0003 setinstancevariable :@name, <is:0> (
        # 12)[Li]. A line number stands only at the first instruction of its line.
        def line_of(method, variable)
          code = RubyVM::InstructionSequence.of(method) or return
          setter = /\b(?:setinstancevariable|setclassvariable)\s+:#{Regexp.escape(variable)}[,\s]/
          line = nil
          code.disasm.each_line do |text|
            line = text[/\(\s*(\d+)\)/, 1] || line
            return line if text.match?(setter)
          end
          nil
        end
      end
    end
  end
end
