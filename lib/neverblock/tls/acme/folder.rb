# frozen_string_literal: true

# The folder where the account's key and the certificates of one ACME server are kept. Folders have
# mode 0700, files 0600. A file is replaced as a whole, so that another server that shares the
# folder never reads a part. Who holds the file `lock` asks the ACME server.

require "fileutils"
require "neverblock/tls/unusable"

module NeverBlock
  module TLS
    class Acme
      class Folder
        ACCOUNT = "account.key"
        LOCK = "lock"
        private_constant :ACCOUNT, :LOCK

        # @param path [String] absolute
        def initialize(path)
          @path = path
        end

        # Creates it.
        # @return [self]
        # @raise [Unusable] files cannot be written there
        def prepare
          FileUtils.mkdir_p(@path, mode: 0o700)
          return self if File.writable?(@path)

          unusable("user #{::Process.euid} may not write there")
        rescue SystemCallError => e
          unusable(e.message.sub(/ @ \S+/, ""))
        end

        # The account's key, which is made where there is none.
        # @return [OpenSSL::PKey::EC]
        # @raise [Unusable] its file is broken
        def account_key
          path = File.join(@path, ACCOUNT)
          write(path,
                OpenSSL::PKey::EC.generate("prime256v1").private_to_pem) unless File.exist?(path)
          OpenSSL::PKey::EC.new(File.binread(path), "")
        rescue OpenSSL::PKey::PKeyError
          raise Unusable, "the account's key #{path} is broken; remove the file, and a new " \
                          "account is made"
        end

        # Replaces a file as a whole. It is on the disk when this returns.
        # @param path [String] in this folder
        # @param text [String]
        # @return [void]
        def write(path, text)
          fresh = "#{path}.#{::Process.pid}.new"
          FileUtils.rm_f(fresh) # a process of the same number may have ended while it wrote
          File.open(fresh, File::WRONLY | File::CREAT | File::EXCL, 0o600) do |file|
            file.write(text)
            file.fsync
          end
          File.rename(fresh, path)
          sync
        ensure
          FileUtils.rm_f(fresh)
        end

        # Calls the block while no other server that shares the folder does.
        # @return [Boolean] false: another one does, and the block was not called
        def alone
          File.open(File.join(@path, LOCK), File::RDWR | File::CREAT, 0o600) do |file|
            return false unless file.flock(File::LOCK_EX | File::LOCK_NB)

            begin
              yield
            ensure
              file.flock(File::LOCK_UN) # a child of a fork may have the file as well
            end
          end
          true
        end

        private

        # The name is on the disk (fsync(2)).
        def sync
          File.open(@path, &:fsync)
        rescue SystemCallError
          nil # some file systems cannot
        end

        def unusable(why)
          raise Unusable, "tls { acme } cannot keep certificates in #{@path}: #{why}; name " \
                          "another folder (folder: \"/path\"), or let the server write there"
        end
      end
    end
  end
end
