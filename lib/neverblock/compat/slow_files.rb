# frozen_string_literal: true

# Files and folders. Ruby makes these system calls on the fiber's thread, without a hook (file.c,
# io.c, dir.c; from 3.4 on most of them use blocking_operation_wait, Feature #20876). A slow disk or
# network file system stops the loop. Here, in a fiber, they are made on this thread where they are
# quick, as from the page cache, and on another one where they are not (Blockers).
#
# What an application has defined (to_path of a name, to_s of what is written) is called in the
# fiber, with the state of its request. So is `IO.read("| command")`, which waits through hooks.
#
# Only calls that release Ruby's lock are wrapped. IO#stat, IO#close, File.realpath, File.link,
# File.symlink and, before 3.4, lists of folders hold it, and would stop the loop from any thread.

require "neverblock/blockers/gem"

module NeverBlock
  module Compat
    module SlowFiles
      class << self
        # @param names [Array<Symbol>] methods of files
        # @param options [Boolean] whether they take keywords
        # @param text [Boolean] whether the second argument is what is written
        # @return [Module] of wrappers, which is to be prepended
        def around(names, options: true, text: false)
          parameters = options ? "*arguments, **options, &block" : "*arguments"
          code = names.map { |name| <<~RUBY }
            def #{name}(#{parameters})
              return super unless NeverBlock::Compat.scheduler
              NeverBlock::Compat::SlowFiles.prepare(arguments, #{text})
              return super if NeverBlock::Compat::SlowFiles.command?(self, arguments)
              NeverBlock::Blockers.at_call_site { super(#{parameters}) }
            end
          RUBY
          Module.new { module_eval(code.join, __FILE__, __LINE__ - 7) }
        end

        # Makes of the arguments what Ruby makes of them.
        def prepare(arguments, text)
          arguments[1] = arguments[1].to_s if text && arguments.size > 1
          arguments.map! { |one| one.is_a?(String) ? one : name_of(one) }
        end

        # @return [Boolean] whether a method of IO, not of File, runs a command of this name
        def command?(receiver, arguments)
          receiver.equal?(IO) && arguments.first.is_a?(String) && arguments.first.start_with?("|")
        end

        private

        # Methods that ask for a descriptor prefer it to the name.
        def name_of(argument)
          return argument if argument.respond_to?(:to_io)

          named = argument.respond_to?(:to_path) || argument.respond_to?(:to_str)
          named ? File.path(argument) : argument
        end
      end

      # On every Ruby.
      IO.prepend(Blockers.around(%i[fsync fdatasync], options: false))
      File.prepend(Blockers.around(%i[truncate], options: false))
      # The rest of a buffer is written when the file is closed, without a hook (io.c,
      # io_flush_buffer; Bug #21789).
      IO.singleton_class.prepend(around(%i[write binwrite], text: true))

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
        File.singleton_class.prepend(around(found, options: false))
        Dir.singleton_class.prepend(around(FOLDERS, options: false))
        Dir.prepend(around(%i[initialize]))
        File.prepend(around(%i[initialize]))
        IO.singleton_class.prepend(around(%i[sysopen], options: false),
                                   around(%i[read binread readlines]))

        # Dir.open does not call Dir#initialize. The block runs in the fiber.
        module OpenFolder
          def open(*arguments, **options, &block)
            return super unless Compat.scheduler

            SlowFiles.prepare(arguments, false)
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
