# frozen_string_literal: true

# What a folder holds, as a listing shows it: files and folders that can be asked for, sorted, a page at a time. Blocks for the disk.

module NeverBlock
  module Files
    class Folder
      # Names of one folder that are read; what is beyond is not shown.
      NAMES_MAX = 200_000
      # Entries of which size and time are read to sort by them, one system call each; a larger folder is sorted by name alone.
      FACTS_MAX = 20_000
      # Entries of a page.
      PAGE = 1_000

      # One file or folder. size in bytes and modified are nil where they could not be read.
      Entry = Struct.new(:name, :folder, :size, :modified, :served) do
        # @return [String] as it is shown: UTF-8, whatever it is
        def text
          name.dup.force_encoding(Encoding::UTF_8).scrub("\u{fffd}").gsub(/[[:cntrl:]]/, "\u{fffd}")
        end

        # @return [String, nil] relative to its folder; nil: no request can name it
        def href
          "#{Place.encode(name)}#{"/" if folder}" if served
        end
      end

      SORTS = { "name" => ->(entry) { sort_name(entry.name) }, "size" => ->(entry) { entry.size || -1 }, "time" => ->(entry) { entry.modified.to_f } }.freeze

      # @return [String] so that "b.txt" stands between "A.txt" and "C.txt"
      def self.sort_name(name)
        name.dup.force_encoding(Encoding::UTF_8).scrub("?").downcase
      end

      # @return [Integer] files and folders, of all pages
      attr_reader :count
      # @return [Integer] pages, at least one
      attr_reader :pages
      # @return [Integer] the page that `entries` are, from 1
      attr_reader :page
      # @return [Array<Entry>]
      attr_reader :entries
      # @return [String] what it is sorted by: a key of SORTS
      attr_reader :sort
      # @return [Boolean] the other way round
      attr_reader :descending

      # @param path [String] absolute, without links
      # @param place [Place]
      # @param names [Array<String>] of the folder, in that place
      # @param order [String] a key of SORTS, with "-" in front for the other way round; whatever else it is: "name"
      # @param page [Integer] from 1; one that is not there: the nearest
      # @raise [SystemCallError] when it cannot be read
      def initialize(path, place, names, order: "name", page: 1)
        @path = path
        @place = place
        @names = names
        order = "name" unless SORTS.key?(order.delete_prefix("-"))
        @descending = order.start_with?("-")
        @sort = order.delete_prefix("-")
        show(read, page)
      end

      # @return [Boolean] whether it holds more than is shown
      def cut?
        @cut
      end

      # @return [Boolean] whether it can be sorted by name alone
      def large?
        @large
      end

      private

      def read
        names = []
        Dir.each_child(@path) do |name|
          next if name.start_with?(".")
          break @cut = true if names.size == NAMES_MAX

          names << name.b
        end
        names
      end

      def show(names, page)
        @large = names.size > FACTS_MAX
        all = @large ? by_name(names) : sorted(names.filter_map { |name| entry(name) })
        @count = all.size
        @pages = [(all.size / PAGE.to_f).ceil, 1].max
        @page = page.clamp(1, @pages)
        part = all[(@page - 1) * PAGE, PAGE]
        @entries = @large ? part.filter_map { |name| entry(name) } : part
      end

      def by_name(names)
        @sort = "name"
        sorted = names.sort_by { |name| [self.class.sort_name(name), name] }
        @descending ? sorted.reverse : sorted
      end

      # Folders first, whatever the order; equal ones by name.
      def sorted(entries)
        key = SORTS.fetch(@sort)
        entries.partition(&:folder).flat_map do |part|
          named = part.sort_by { |entry| [self.class.sort_name(entry.name), entry.name] }
          found = @sort == "name" ? named : named.each_with_index.sort_by { |entry, index| [key.call(entry), index] }.map(&:first)
          @descending ? found.reverse : found
        end
      end

      # nil: neither file nor folder, or a link that is not followed, or gone since.
      def entry(name)
        facts = facts_of(name) or return nil
        return nil unless facts.file? || facts.directory?

        Entry.new(name, facts.directory?, (facts.size if facts.file?), facts.mtime, Place.served?(name))
      rescue Errno::EACCES
        Entry.new(name, false, nil, nil, false)
      rescue SystemCallError
        nil
      end

      def facts_of(name)
        path = File.join(@path, name)
        facts = File.lstat(path)
        return facts unless facts.symlink?

        File.stat(path) if @place.find([*@names, name])
      end
    end
  end
end
