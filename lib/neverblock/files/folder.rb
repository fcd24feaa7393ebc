# frozen_string_literal: true

# The content of a folder for a listing: its files and subfolders that requests can name, sorted, in
# pages. Its methods block for the disk.

module NeverBlock
  module Files
    class Folder
      # Most names read of one folder; further ones are not shown.
      NAMES_MAX = 200_000
      # Most entries whose size and time are read for sorting, with one system call each. A larger
      # folder is sorted by name only.
      FACTS_MAX = 20_000
      # Entries on a page.
      PAGE = 1_000

      # A file or folder. size (bytes) and modified are nil when they could not be read.
      Entry = Struct.new(:name, :folder, :size, :modified, :served) do
        # @return [String] the name to show: valid UTF-8 without controls
        def text
          text = name.dup.force_encoding(Encoding::UTF_8)
          text.scrub("\u{fffd}").gsub(/[[:cntrl:]]/, "\u{fffd}")
        end

        # @return [String, nil] relative to the folder; nil: no request can name it
        def href
          "#{Place.encode(name)}#{"/" if folder}" if served
        end
      end

      SORTS = { "name" => ->(entry) { sort_name(entry.name) },
                "size" => ->(entry) { entry.size || -1 },
                "time" => ->(entry) { entry.modified.to_f } }.freeze

      # @return [String] sort key without case, so that "b.txt" is between "A.txt" and "C.txt"
      def self.sort_name(name)
        name.dup.force_encoding(Encoding::UTF_8).scrub("?").downcase
      end

      # @return [Integer] number of entries on all pages
      attr_reader :count
      # @return [Integer] number of pages, at least one
      attr_reader :pages
      # @return [Integer] number of this page, from 1
      attr_reader :page
      # @return [Array<Entry>] entries of this page
      attr_reader :entries
      # @return [String] the sort key: a key of SORTS
      attr_reader :sort
      # @return [Boolean] whether the order is descending
      attr_reader :descending

      # @param path [String] absolute, without links
      # @param place [Place]
      # @param names [Array<String>] path of the folder inside the place
      # @param order [String] a key of SORTS, with "-" in front for descending; other values: "name"
      # @param page [Integer] from 1; out of range: the nearest page
      # @param refused [#call, nil] called with the name of a link that leads to a place that is not
      #   allowed
      # @raise [SystemCallError] when the folder cannot be read
      def initialize(path, place, names, order: "name", page: 1, refused: nil)
        @path = path
        @place = place
        @names = names
        @refused = refused
        order = "name" unless SORTS.key?(order.delete_prefix("-"))
        @descending = order.start_with?("-")
        @sort = order.delete_prefix("-")
        show(read, page)
      end

      # @return [Boolean] whether it has more than NAMES_MAX entries
      def truncated?
        @truncated
      end

      # @return [Boolean] whether it is too large to be sorted by size or time
      def large?
        @large
      end

      private

      def read
        names = []
        Dir.each_child(@path) do |name|
          next if name.start_with?(".")
          break @truncated = true if names.size == NAMES_MAX

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

      # Folders come first, in any order; equal entries are sorted by name.
      def sorted(entries)
        entries.partition(&:folder).flat_map do |part|
          found = by_key(part.sort_by { |entry| [self.class.sort_name(entry.name), entry.name] })
          @descending ? found.reverse : found
        end
      end

      # The index keeps the sort stable.
      def by_key(named)
        return named if @sort == "name"

        key = SORTS.fetch(@sort)
        named.each_with_index.sort_by { |entry, index| [key.call(entry), index] }.map(&:first)
      end

      # @return [Entry, nil] nil: neither file nor folder, a link that is not followed, or removed
      #   since
      def entry(name)
        facts = facts_of(name) or return nil
        return nil unless facts.file? || facts.directory?

        size = facts.size if facts.file?
        Entry.new(name, facts.directory?, size, facts.mtime, Place.served?(name))
      rescue Errno::EACCES
        Entry.new(name, false, nil, nil, false)
      rescue SystemCallError
        nil
      end

      def facts_of(name)
        path = File.join(@path, name)
        facts = File.lstat(path)
        return facts unless facts.symlink?

        return File.stat(path) if @place.find([*@names, name])

        @refused&.call([*@names, name].join("/"))
        nil
      end
    end
  end
end
