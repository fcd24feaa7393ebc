# frozen_string_literal: true

# The table of every way to wait in Ruby: the rows, and the little language they are written in
# (test/hooks/README.md). A row is played by Stage, in a process of its own (Isolation).
# table_test.rb holds each to what it says of this Ruby, and Document prints the published table.

require_relative "row"

module HookTable
  FOLDER = File.expand_path("..", __dir__)
  ROOT = File.expand_path("../..", FOLDER)

  # What the rows of one library are declared in.
  class Section
    def initialize(library, rows)
      @library = library
      @rows = rows
    end

    # @param name [String] "IO#read", "File.open": what the completeness check looks for
    # @param variant [String, nil] what is special about this row of several
    # @see Row#initialize for the options
    def row(name, variant = nil, **options, &body)
      file = caller_locations(1, 1).first.path
      add(Row.new(@library, name, variant, file: file, body: body, **options))
    end

    private

    def add(row)
      if @rows.any? { |other| other.key == row.key }
        raise ArgumentError, "two rows are called #{row.title} (#{row.library})"
      end

      @rows << row
    end
  end

  class << self
    # @return [Array<Row>] in the order they are published
    def rows
      @rows ||= []
    end

    def library(name, &block)
      Section.new(name, rows).instance_exec(&block)
    end

    # What is wrong with the way a row was played: it failed, or it blocked and has no excuse on
    # this Ruby, or it has one and did not block.
    # @return [String, nil]
    def objection(row, played)
      case played["verdict"]
      when "failed" then "#{row.title}: #{played["detail"]}"
      when "blocks" then row.excuse ? nil : "#{row.title} stopped the loop"
      when "yields"
        if row.excuse
          "#{row.title} is said to block on Ruby #{RUBY_VERSION} (#{row.excuse}), and does not"
        end
      end
    end

    # Loads every file of rows/, IO and what is near to it first, the rest by name.
    def load
      first = %w[io io_select io_buffer file dir socket kernel process thread]
      files = Dir[File.join(FOLDER, "rows", "*.rb")].sort_by do |file|
        [first.index(File.basename(file, ".rb")) || first.size, file]
      end
      files.each { |file| require file }
      rows
    end
  end
end
