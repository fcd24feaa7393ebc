# frozen_string_literal: true

# Files and folders: Ruby makes these system calls on the fiber's thread, without a hook (file.c, io.c, dir.c; from 3.4 on most of them are offered to
# blocking_operation_wait, Feature #20876): a disk or a network's file system that takes its time stops the loop. In a fiber they are made here where they are quick,
# as from the page cache, and elsewhere where they are not (Blockers). Only those that release Ruby's lock: IO#stat, IO#close, File.realpath, File.link, File.symlink and,
# before 3.4, lists of folders hold it, and would stop the loop from any thread.

require "neverblock/blockers/gem"

module NeverBlock
  module Compat
    module SlowFiles
      # On every Ruby.
      IO.prepend(Blockers.around(%i[fsync fdatasync], options: false))
      File.prepend(Blockers.around(%i[truncate], options: false))
      # What is left in a buffer is written when the file is closed, without a hook (io.c, io_flush_buffer; Bug #21789).
      IO.singleton_class.prepend(Blockers.around(%i[write binwrite]))

      if RUBY_VERSION < "3.4"
        NAMES = %i[
          stat lstat ftype exist? file? directory? symlink? blockdev? chardev? pipe? socket? owned? grpowned? setuid? setgid? sticky? identical?
          size size? zero? empty? atime mtime ctime birthtime world_readable? world_writable?
          readable? readable_real? writable? writable_real? executable? executable_real?
          readlink rename unlink delete mkfifo truncate chmod lchmod chown lchown utime lutime
        ].freeze
        FOLDERS = %i[exist? empty? mkdir rmdir delete unlink].freeze
        private_constant :NAMES, :FOLDERS

        File.singleton_class.prepend(Blockers.around(NAMES & File.singleton_class.instance_methods, options: false))
        Dir.singleton_class.prepend(Blockers.around(FOLDERS, options: false))
        Dir.prepend(Blockers.around(%i[initialize]))
        File.prepend(Blockers.around(%i[initialize]))
        IO.singleton_class.prepend(Blockers.around(%i[sysopen], options: false), Blockers.around(%i[read binread readlines]))

        # It does not call Dir#initialize; its block is the fiber's.
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

        # From file to file.
        module CopyStream
          def copy_stream(source, target, *numbers)
            return super unless Compat.scheduler && SlowFiles.file?(source) && SlowFiles.file?(target)

            Blockers.at_call_site { super }
          end
        end

        # @return [Boolean] whether an end of IO.copy_stream is a file
        def self.file?(object)
          object.is_a?(String) || object.is_a?(Pathname) || (object.is_a?(File) && object.stat.file?)
        rescue SystemCallError, IOError
          false # it is for copy_stream to say
        end

        require "pathname"
        IO.singleton_class.prepend(CopyStream)
        Dir.singleton_class.prepend(OpenFolder)
      end
    end
  end
end
