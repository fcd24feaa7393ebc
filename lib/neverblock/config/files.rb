# frozen_string_literal: true

# The settings for serving files: the public folders, the folders whose files an application may
# name, and the rules for them. The rows are checked where they are read (config/catalog.rb). The
# folders are opened when the server starts (server/folders.rb).

module NeverBlock
  class Config
    class Files
      # @return [Array<String>] absolute paths of the public folders, in order of lookup
      attr_reader :public_dirs
      # @return [Array<String>] absolute paths of folders whose files X-Sendfile may name
      attr_reader :roots
      # @return [Array<Array(String, String)>] prefix of an X-Accel-Redirect path, absolute path of
      #   its folder
      attr_reader :accel
      # @return [Array<Array(String, String)>] path pattern, value of Cache-Control; the first match
      #   counts
      attr_reader :cache
      # @return [Array<Array(String, String)>] file extension with its dot, media type
      attr_reader :mime
      # @return [Array<String>] names of files that are served for their folder
      attr_reader :index

      # @param public_dirs [Array<String>]
      # @param roots [Array<String>]
      # @param accel [Array<Array(String, String)>]
      # @param cache [Array<Array(String, String)>]
      # @param mime [Array<Array(String, String)>]
      # @param index [Array<String>]
      # @param directory [String] base of relative paths
      def initialize(public_dirs: [], roots: [], accel: [], cache: [], mime: [],
                     index: [Catalog[:index].default], directory: Dir.pwd)
        @public_dirs = absolute(public_dirs, directory)
        @roots = absolute(roots, directory)
        @accel = accel.map do |prefix, folder|
          [prefix, File.expand_path(folder, directory)].freeze
        end.freeze
        @cache = cache.map(&:freeze).freeze
        @mime = mime.map { |name, type| [with_dot(name), type].freeze }.freeze
        @index = index.compact.freeze
        freeze
      end

      # @return [Boolean] whether any folder is set
      def any?
        [public_dirs, roots, accel].any?(&:any?)
      end

      # Keywords of an Executor that differ from its defaults: which response fields may name files,
      # and the mapping of accel in the form that Rack::Sendfile reads.
      # @return [Hash{Symbol => Object}]
      def executor_options
        options = {}
        options[:sendfile] = true if roots.any?
        options[:accel] = accel_mapping if accel.any?
        options
      end

      private

      def accel_mapping
        accel.map { |prefix, folder| "#{folder}/=#{prefix}" }.join(",")
      end

      def with_dot(name)
        name.start_with?(".") ? name : ".#{name}"
      end

      def absolute(paths, directory)
        paths.map { |path| File.expand_path(path, directory) }.freeze
      end
    end
  end
end
