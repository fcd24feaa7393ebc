# frozen_string_literal: true

# Opens the folders of a configuration on an engine, with the rules for their files. A folder that
# cannot be opened is an error of one line.

require "neverblock/errors"
require "neverblock/server/media_types"

module NeverBlock
  class Server
    class Folders
      # @param engine [Engine] not started
      def initialize(engine)
        @engine = engine
      end

      # @param files [Config::Files]
      # @return [void]
      # @raise [StartError]
      def open(files)
        return unless files.any?

        MediaTypes.table.merge(files.mime.to_h).each { |name, type| @engine.mime(name, type) }
        files.index.each { |name| @engine.index_file(name) }
        files.cache.each { |pattern, value| @engine.cache_rule(pattern, value) }
        files.public_dirs.each { |path| folder("public_dir", path) { @engine.public_dir(path) } }
        files.roots.each { |path| folder("sendfile roots", path) { @engine.sendfile_root(path) } }
        files.accel.each do |prefix, path|
          folder("accel #{prefix.inspect}", path) { @engine.accel(prefix, path) }
        end
      end

      private

      def folder(setting, path)
        yield
      rescue SystemCallError => e
        raise StartError, "cannot use the folder #{path} of #{setting}: #{explain(e)}"
      end

      def explain(error)
        case error
        when Errno::ENOENT then "there is no such folder; create it, or name another"
        when Errno::ENOTDIR then "it is not a folder; name the folder of the files"
        when Errno::EACCES, Errno::EPERM then "user #{::Process.euid} may not open it"
        when Errno::ELOOP then "its symbolic links form a loop"
        else "it cannot be opened: #{error.message.lines.first.to_s.strip}"
        end
      end
    end
  end
end
