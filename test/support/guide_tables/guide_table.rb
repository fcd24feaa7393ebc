# frozen_string_literal: true

# Tables in a guide that are made from a table of the code. What is made stands between two comments
# that name its source.

module GuideTables
  class GuideTable
    # @return [String] of the guide
    attr_reader :path

    # @param guide [String] its path below the project's folder
    # @param source [String] the same of the file it is made from
    # @yieldreturn [String] Markdown of today
    def initialize(guide, source, &made)
      @path = File.expand_path("../../../#{guide}", __dir__)
      @begins = "<!-- made from #{source}: begin -->"
      @ends = "<!-- made from #{source}: end -->"
      @made = made
    end

    # @param cells [Array<#to_s>]
    # @return [String] a row
    def self.line(cells)
      "| #{cells.map { |cell| cell.to_s.gsub("|", "\\|") }.join(" | ")} |\n"
    end

    # @param text [String] of the guide
    # @return [String] the same with today's tables
    # @raise [ArgumentError] when it has no place for them
    def renew(text)
      before, rest = text.split(@begins, 2)
      after = rest.to_s.split(@ends, 2)[1] or
        raise ArgumentError, "the guide has no #{@begins} and #{@ends}"
      "#{before}#{@begins}\n#{@made.call}#{@ends}#{after}"
    end

    # @return [void]
    def write
      File.write(path, renew(File.read(path)))
    end
  end
end
