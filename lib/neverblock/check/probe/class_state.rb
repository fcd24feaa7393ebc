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
        # Ruby's own methods: an application's class may have others of these names.
        RUBYS = {
          Module => %i[
            name singleton_class? class_variables class_variable_get instance_methods
            instance_method
          ],
          Kernel => %i[instance_variables instance_variable_get singleton_methods singleton_method],
          BasicObject => %i[equal?]
        }.flat_map { |owner, names| names.map { |name| [name, owner.instance_method(name)] } }
          .to_h.freeze
        # Containers, with Ruby's own #size.
        SIZED = [Array, Hash, Set, String].to_h { |type| [type, type.instance_method(:size)] }
          .freeze
        private_constant :RUBYS, :SIZED

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
          return true if rubys(owner, :singleton_class?)

          name = rubys(owner, :name)
          name.nil? || name.match?(OTHERS)
        end

        def variables_of(owner)
          found = rubys(owner, :instance_variables).to_h do |name|
            [name, measured(rubys(owner, :instance_variable_get, name))]
          end
          rubys(owner, :class_variables, false).each do |name|
            found[name] = measured(rubys(owner, :class_variable_get, name))
          rescue NameError, RuntimeError
            next # a module above has a variable of this name, too
          end
          found
        end

        def rubys(receiver, name, *arguments)
          RUBYS.fetch(name).bind_call(receiver, *arguments)
        end

        def measured(value)
          _, size = SIZED.find { |type, _| type === value }
          [value, size&.bind_call(value)]
        end

        def same?(earlier, now)
          !earlier.nil? && rubys(earlier[0], :equal?, now[0]) && earlier[1] == now[1]
        end

        def change(owner, variable)
          name = rubys(owner, :name)
          file, line = Object.const_source_location(name)
          file &&= File.expand_path(file)
          Change.new(name, variable, own?(file), place(owner, variable, file, line))
        rescue NameError, TypeError # nobody finds it by its name
          Change.new(name, variable, false, nil)
        end

        def own?(file)
          return false if file.nil?

          file.start_with?("#{@root}/") && !file.match?(%r{/(?:gems|vendor)/})
        end

        # The line of a method of the module that sets the variable; else the place of the module.
        def place(owner, variable, file, line)
          found = guarded { setter(owner, variable) } || [file, line]
          found[0] ? "#{found[0].delete_prefix("#{@root}/")}:#{found[1]}" : "?"
        end

        def setter(owner, variable)
          methods = methods_of(owner, :singleton_methods, :singleton_method) +
                    methods_of(owner, :instance_methods, :instance_method)
          methods.each do |method|
            line = line_of(method, variable)
            return [File.expand_path(method.source_location.first), line] if line
          end
          nil
        end

        def methods_of(owner, names, one)
          rubys(owner, names, false).filter_map { |name| guarded { rubys(owner, one, name) } }
        end

        # The place is known without it.
        def guarded
          yield
        rescue StandardError # an application may have patched anything
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
