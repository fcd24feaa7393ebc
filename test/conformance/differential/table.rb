# frozen_string_literal: true

require "yaml"
require_relative "parsers"

module Differential
  # The checked-in table of differences, and the differences that are found.
  #
  # A row is a class of inputs. It has our result with its reason, the results of llhttp and node
  # ("same" where they agree), the section of the RFC, why we are right, and the vectors that show
  # it. Rows without vectors show only in the fuzzers' corpora.
  class Table
    PATH = File.join(__dir__, "differences.yml")
    COLUMNS = { "llhttp" => LLHttpFFI, "node" => Node }.freeze
    CORPUS_GLOB = File.join(ROOT, "test/c/fuzz/corpus/{chunked,framing,head}/*")
    CONTROL_BYTES = 4 # of a fuzz input: how it is cut, see test/c/fuzz/fuzz.h
    CHUNKED_HEAD = "POST / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n".b

    attr_reader :rows, :vectors, :corpus

    def initialize
      @rows = YAML.safe_load_file(PATH) || []
      @ours = Ours.new
      @vectors = @ours.vectors.to_h
      @corpus = Dir.glob(CORPUS_GLOB).sort
                   .to_h { |path| [path.delete_prefix("#{ROOT}/"), corpus_input(path)] }
                   .reject { |_, bytes| bytes.empty? }
    end

    # What the table says of one column: { [ours, theirs] => names of vectors }.
    def expected(column)
      rows.reject { |row| row[column] == "same" }.group_by { |row| [row["ours"], row[column]] }
          .transform_values { |group| group.flat_map { |row| row["inputs"] }.sort }
    end

    # What there is, in the same form.
    def actual(column, inputs)
      theirs = readings(column, inputs)
      found = Hash.new { |hash, key| hash[key] = [] }
      inputs.each_key do |name|
        mine = ours(inputs)[name]
        difference = theirs[name].beside(mine)
        found[[mine.summary, difference]] << name unless difference == "same"
      end
      found.transform_values(&:sort)
    end

    # The rows as they should be now; rfc and why are taken from the present rows.
    def fresh_rows
      known = rows.to_h { |row| [row.values_at("ours", *COLUMNS.keys), row] }
      by_reason = rows.to_h { |row| [row["ours"], row] }
      found = Hash.new { |hash, key| hash[key] = [] }
      classes(vectors).each { |name, key| found[key] << name }
      covered = COLUMNS.keys.to_h do |column|
        [column, found.keys.map { |key| [key.first, key[COLUMNS.keys.index(column) + 1]] }]
      end
      classes(corpus).each_value do |key|
        new = COLUMNS.keys.each_with_index.any? do |column, index|
          key[index + 1] != "same" && !covered[column].include?([key.first, key[index + 1]])
        end
        next unless new

        found[key] # a row without vectors
        COLUMNS.keys.each_with_index do |column, index|
          covered[column] << [key.first, key[index + 1]]
        end
      end
      found.sort.map do |(ours, *theirs), names|
        old = known[[ours, *theirs]] || by_reason[ours] || {}
        { "ours" => ours, **COLUMNS.keys.zip(theirs).to_h, "rfc" => old["rfc"].to_s,
          "why" => old["why"].to_s, "inputs" => names.sort }
      end
    end

    private

    def classes(inputs)
      columns = COLUMNS.keys.map { |column| readings(column, inputs) }
      keys = ours(inputs).to_h do |name, mine|
        [name, [mine.summary, *columns.map { |theirs| theirs[name].beside(mine) }]]
      end
      keys.reject { |_, key| key.drop(1).uniq == ["same"] }
    end

    def corpus_input(path)
      bytes = File.binread(path).byteslice(CONTROL_BYTES..) || "".b
      bytes.empty? || !path.include?("/chunked/") ? bytes : CHUNKED_HEAD + bytes
    end

    def ours(inputs)
      @read ||= {}.compare_by_identity
      @read[inputs] ||= inputs.keys.zip(@ours.read_all(inputs.values)).to_h
    end

    def readings(column, inputs)
      @parsers ||= Hash.new { |hash, name| hash[name] = COLUMNS.fetch(name).new }
      inputs.keys.zip(@parsers[column].read_all(inputs.values)).to_h
    end
  end
end

# Run alone, it prints the table as it should be now. New rows have an empty "why", to be written by
# hand.
if $PROGRAM_NAME == __FILE__
  ENV["BUNDLE_GEMFILE"] ||= File.join(Differential::ROOT, "Gemfile")
  require "bundler/setup"
  puts YAML.dump(Differential::Table.new.fresh_rows, line_width: 150)
end
