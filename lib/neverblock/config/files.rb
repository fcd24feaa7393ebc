# frozen_string_literal: true

# What a server is told about files: the folders it serves and those that an application may name files of, and what is said of what lies there. The rows are
# checked where they are read (config/catalog.rb); the folders are opened when the server starts (server/folders.rb).

module NeverBlock
  class Config
    class Files
      # @return [Array<String>] absolute paths of folders served before the application is asked, in their order
      attr_reader :public_dirs
      # @return [Array<String>] absolute paths of folders that X-Sendfile may name files of
      attr_reader :roots
      # @return [Array<Array(String, String)>] beginning of an X-Accel-Redirect's path, absolute path of the folder it means
      attr_reader :accel
      # @return [Array<Array(String, String)>] pattern of a path, value of cache-control; the first that matches counts
      attr_reader :cache
      # @return [Array<Array(String, String)>] end of a file's name with its dot, media type
      attr_reader :mime
      # @return [Array<String>] names of files that stand for their folder
      attr_reader :index

      # @param public_dirs [Array<String>]
      # @param roots [Array<String>]
      # @param accel [Array<Array(String, String)>]
      # @param cache [Array<Array(String, String)>]
      # @param mime [Array<Array(String, String)>]
      # @param index [Array<String>]
      # @param directory [String] what a relative path starts from
      def initialize(public_dirs: [], roots: [], accel: [], cache: [], mime: [], index: [Catalog[:index].default], directory: Dir.pwd)
        @public_dirs = absolute(public_dirs, directory)
        @roots = absolute(roots, directory)
        @accel = accel.map { |prefix, folder| [prefix, File.expand_path(folder, directory)].freeze }.freeze
        @cache = cache.map(&:freeze).freeze
        @mime = mime.map { |name, type| [name.start_with?(".") ? name : ".#{name}", type].freeze }.freeze
        @index = index.compact.freeze
        freeze
      end

      # @return [Boolean] whether there is a folder at all
      def any?
        [public_dirs, roots, accel].any?(&:any?)
      end

      # Keywords of an Executor that differ from its defaults: which response fields name files that the server sends, and what accel means the other way round,
      # as Rack::Sendfile reads it.
      # @return [Hash{Symbol => Object}]
      def executor_options
        options = {}
        options[:sendfile] = true if roots.any?
        options[:accel] = accel.map { |prefix, folder| "#{folder}/=#{prefix}" }.join(",") if accel.any?
        options
      end

      private

      def absolute(paths, directory)
        paths.map { |path| File.expand_path(path, directory) }.freeze
      end
    end
  end
end
