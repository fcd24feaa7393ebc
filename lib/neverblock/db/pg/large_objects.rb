# frozen_string_literal: true

# libpq's functions for large objects wait with the thread, and with Ruby's lock. They are calls of functions in the server, which SQL has as well: so they
# are queries here, and park.

module NeverBlock
  module DB
    module Pg
      module LargeObjects
        CHUNK_BYTES = 262_144

        # By method of PG::Connection, its other names.
        NAMES = { lo_creat: %i[locreat], lo_create: %i[locreate], lo_import: %i[loimport], lo_export: %i[loexport], lo_open: %i[loopen],
                  lo_write: %i[lowrite], lo_read: %i[loread], lo_lseek: %i[lolseek lo_seek loseek], lo_tell: %i[lotell],
                  lo_truncate: %i[lotruncate], lo_close: %i[loclose], lo_unlink: %i[lounlink] }.freeze

        # Prepended to PG::Connection.
        module Calls
          NAMES.each do |name, others|
            [name, *others].each do |called|
              define_method(called) { |*arguments| Compat.scheduler ? LargeObjects.public_send(name, self, *arguments) : super(*arguments) }
            end
          end
        end

        # With the arguments, values and errors (PG::Error, here of the server's own class) of the methods they stand for.
        class << self
          def lo_creat(connection, mode = ::PG::INV_READ)
            number(connection, "lo_creat(#{Integer(mode)})")
          end

          def lo_create(connection, oid)
            number(connection, "lo_create(#{Integer(oid)})")
          end

          def lo_open(connection, oid, mode = nil)
            number(connection, "lo_open(#{Integer(oid)}, #{Integer(mode || ::PG::INV_READ)})")
          end

          def lo_write(connection, descriptor, buffer)
            raise TypeError, "wrong argument type #{buffer.class} (expected String)" unless buffer.is_a?(String)

            number(connection, "lowrite(#{Integer(descriptor)}, $1)", [{ value: buffer, type: 17, format: 1 }])
          end

          # @return [String, nil] nil at the end
          def lo_read(connection, descriptor, length)
            raise ::PG::Error.new("negative length #{length} given", connection: connection) if Integer(length).negative?

            bytes = ask(connection, "loread(#{Integer(descriptor)}, #{Integer(length)})", [], 1)
            bytes unless bytes.empty?
          end

          def lo_lseek(connection, descriptor, offset, whence)
            number(connection, "lo_lseek(#{Integer(descriptor)}, #{Integer(offset)}, #{Integer(whence)})")
          end

          def lo_tell(connection, descriptor)
            number(connection, "lo_tell(#{Integer(descriptor)})")
          end

          def lo_truncate(connection, descriptor, length)
            nothing(connection, "lo_truncate(#{Integer(descriptor)}, #{Integer(length)})")
          end

          def lo_close(connection, descriptor)
            nothing(connection, "lo_close(#{Integer(descriptor)})")
          end

          def lo_unlink(connection, oid)
            nothing(connection, "lo_unlink(#{Integer(oid)})")
          end

          # The file is this machine's, read in parts.
          def lo_import(connection, path)
            file(connection, path, "rb") do |file|
              oid = lo_creat(connection, ::PG::INV_READ | ::PG::INV_WRITE)
              opened(connection, oid, ::PG::INV_WRITE) do |descriptor|
                while (part = file.read(CHUNK_BYTES))
                  lo_write(connection, descriptor, part)
                end
              end
              oid
            end
          end

          def lo_export(connection, oid, path)
            file(connection, path, "wb") do |file|
              opened(connection, oid, ::PG::INV_READ) do |descriptor|
                while (part = lo_read(connection, descriptor, CHUNK_BYTES))
                  file.write(part)
                end
              end
            end
            nil
          end

          private

          def file(connection, path, mode, &block)
            raise TypeError, "wrong argument type #{path.class} (expected String)" unless path.is_a?(String)

            File.open(path, mode, &block)
          rescue SystemCallError => e
            raise ::PG::Error.new(e.message, connection: connection)
          end

          def opened(connection, oid, mode)
            descriptor = lo_open(connection, oid, mode)
            yield descriptor
            lo_close(connection, descriptor)
          end

          def number(connection, call, parameters = [])
            ask(connection, call, parameters, 0).to_i
          end

          def nothing(connection, call)
            number(connection, call)
            nil
          end

          # Whatever types the connection converts.
          def ask(connection, call, parameters, format)
            plain = ::PG::TypeMapAllStrings.new
            result = connection.async_exec_params("SELECT #{call}", parameters, format, plain)
            result.type_map = plain
            result.getvalue(0, 0)
          ensure
            result&.clear
          end
        end
      end
    end
  end
end
