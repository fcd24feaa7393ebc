# frozen_string_literal: true

require "coverage"
require "json"
require "open3"

module CoverageRun
  # What has run, of one language: by file, then by line or branch, whether it ran.
  class Tally
    Row = Struct.new(:name, :files, :lines, :lines_run, :branches, :branches_run)

    def initialize
      @files = Hash.new { |files, path| files[path] = { lines: {}, branches: {} } }
    end

    # @param path [String] relative to the tree
    # @param kind [Symbol] :lines or :branches
    # @param place [Object] a line's number, or what tells a branch from others of its file
    def add(path, kind, place, ran)
      rows = @files[path][kind]
      rows[place] = rows[place] || ran
    end

    # @param depth [Integer] folders of a path that make a row
    # @return [Array<Row>] sorted by name, the sum last
    def rows(depth)
      groups = @files.group_by do |path, _|
        parts = File.dirname(path).split("/")
        parts.first(depth).join("/")
      end
      rows = groups.sort.map { |name, files| row(name, files.map(&:last)) }
      rows << row("all", @files.values)
    end

    # @param count [Integer] how many files
    # @return [Array<Row>] of single files, those with most that did not run first
    def least_run(count)
      rows = @files.map { |path, file| row(path, [file]) }
      rows.max_by(count) { |row| row.lines - row.lines_run + row.branches - row.branches_run }
    end

    private

    def row(name, files)
      lines, branches = %i[lines branches].map do |kind|
        files.flat_map { |file| file[kind].values }
      end
      Row.new(name, files.size, lines.size, lines.count(true), branches.size, branches.count(true))
    end
  end

  # Of Ruby, as recorder.rb has written it.
  class RubyTally < Tally
    # @param folder [String] of its files
    # @param root [String] the folder that paths are relative to
    # @param all [Array<String>] paths of files that count also if no process has loaded them
    def initialize(folder, root, all)
      super()
      all.each { |path| stub(path, File.join(root, path)) }
      Dir[File.join(folder, "*.coverage")].each do |name|
        Marshal.load(File.binread(name)).each do |path, found| # rubocop:disable Security/MarshalLoad
          take(path.delete_prefix("#{root}/"), found)
        end
      end
    end

    private

    def stub(path, file)
      Coverage.line_stub(file).each_with_index do |count, index|
        add(path, :lines, index + 1, false) if count
      end
    end

    def take(path, found)
      found.fetch(:lines).each_with_index do |count, index|
        add(path, :lines, index + 1, count.positive?) if count
      end
      # The number of a branch depends on what else a process has loaded.
      found.fetch(:branches).each do |condition, targets|
        targets.each do |target, count|
          place = [condition.values_at(0, 2..5), target.values_at(0, 2..5)]
          add(path, :branches, place, count.positive?)
        end
      end
    end
  end

  # Of C, by gcov's JSON (gcc --coverage).
  class CTally < Tally
    # @param folders [Array<String>] of .gcda files
    # @param root [String] the folder of the sources
    def initialize(folders, root)
      super()
      @root = root
      Dir[*folders.map { |folder| File.join(folder, "**/*.gcda") }].each { |data| take(data) }
    end

    private

    def take(data)
      said, status = Open3.capture2("gcov", "--json-format", "--stdout", data, err: File::NULL)
      raise "gcov cannot read #{data}" unless status.success?

      said.each_line do |line|
        compiled = JSON.parse(line)
        folder = compiled.fetch("current_working_directory")
        compiled.fetch("files").each { |file| take_file(file, folder) }
      end
    end

    # @param folder [String] in which it was compiled
    def take_file(file, folder)
      path = File.expand_path(file.fetch("file"), folder)
      return unless path.start_with?("#{@root}/")

      file.fetch("lines").each do |row|
        add(path.delete_prefix("#{@root}/"), :lines, row.fetch("line_number"),
            row.fetch("count").positive?)
      end
    end
  end
end
