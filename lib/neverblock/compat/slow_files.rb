# frozen_string_literal: true

# Files and folders. Ruby makes these system calls on the fiber's thread, without a hook (file.c,
# io.c, dir.c; from 3.4 on most of them use blocking_operation_wait, Feature #20876). A slow disk or
# network file system stops the loop. Here, in a fiber, they are made on this thread where they are
# quick, as from the page cache, and on another one where they are not (Blockers).
#
# Only calls that release Ruby's lock are wrapped. IO#stat, IO#close, File.realpath, File.link,
# File.symlink and, before 3.4, lists of folders hold it, and would stop the loop from any thread.

require "neverblock/blockers/gem"

module NeverBlock
  module Compat
    module SlowFiles
      # On every Ruby.
      IO.prepend(Blockers.around(%i[fsync fdatasync], options: false))
      File.prepend(Blockers.around(%i[truncate], options: false))
      # The rest of a buffer is written when the file is closed, without a hook (io.c,
      # io_flush_buffer; Bug #21789).
      IO.singleton_class.prepend(Blockers.around(%i[write binwrite]))

      if RUBY_VERSION < "3.4"
        NAMES = %i[
          stat lstat ftype exist? file? directory? symlink? blockdev? chardev? pipe? socket?
          owned? grpowned? setuid? setgid? sticky? identical?
          size size? zero? empty? atime mtime ctime birthtime world_readable? world_writable?
          readable? readable_real? writable? writable_real? executable? executable_real?
          readlink rename unlink delete mkfifo truncate chmod lchmod chown lchown utime lutime
        ].freeze
        FOLDERS = %i[exist? empty? mkdir rmdir delete unlink].freeze
        private_constant :NAMES, :FOLDERS

        found = NAMES & File.singleton_class.instance_methods
        File.singleton_class.prepend(Blockers.around(found, options: false))
        Dir.singleton_class.prepend(Blockers.around(FOLDERS, options: false))
        Dir.prepend(Blockers.around(%i[initialize]))
        File.prepend(Blockers.around(%i[initialize]))
        IO.singleton_class.prepend(Blockers.around(%i[sysopen], options: false),
                                   Blockers.around(%i[read binread readlines]))

        # Dir.open does not call Dir#initialize. The block runs in the fiber.
        module OpenFolder
          def open(*arguments, **options, &block)
            return super unless Compat.scheduler

            folder = Blockers.at_call_site { super(*arguments, **options, &nil) }
            return folder unless block

            begin
              yield folder
            ensure
              folder.close
            end
          end
        end

        # IO.copy_stream from file to file.
        module CopyStream
          def copy_stream(source, target, *numbers)
            return super unless Compat.scheduler
            return super unless SlowFiles.file?(source) && SlowFiles.file?(target)

            Blockers.at_call_site { super }
          end
        end

        # @return [Boolean] whether an end of IO.copy_stream is a file
        def self.file?(object)
          return true if object.is_a?(String) || object.is_a?(Pathname)

          object.is_a?(File) && object.stat.file?
        rescue SystemCallError, IOError
          false # copy_stream itself raises it
        end

        require "pathname"
        IO.singleton_class.prepend(CopyStream)
        Dir.singleton_class.prepend(OpenFolder)
      end
    end
  end
end
