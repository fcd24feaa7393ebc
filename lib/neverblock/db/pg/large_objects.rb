# frozen_string_literal: true

# libpq's functions for large objects block the thread, with Ruby's lock held. They call functions
# of the server that SQL has as well. So here they are queries, which park.

module NeverBlock
  module DB
    module Pg
      module LargeObjects
        # Size of the parts in which a file is read and written.
        CHUNK_BYTES = 262_144

        # Method of PG::Connection => its other names.
        NAMES = {
          lo_creat: %i[locreat],
          lo_create: %i[locreate],
          lo_import: %i[loimport],
          lo_export: %i[loexport],
          lo_open: %i[loopen],
          lo_write: %i[lowrite],
          lo_read: %i[loread],
          lo_lseek: %i[lolseek lo_seek loseek],
          lo_tell: %i[lotell],
          lo_truncate: %i[lotruncate],
          lo_close: %i[loclose],
          lo_unlink: %i[lounlink]
        }.freeze
        # Prepended to PG::Connection.
        module Calls
          NAMES.each do |name, others|
            [name, *others].each do |called|
              define_method(called) do |*arguments|
                next super(*arguments) unless Compat.scheduler

                LargeObjects.public_send(name, self, *arguments)
              end
            end
          end
        end

        # Each has the arguments, values and errors of the method in whose place it is called. The
        # errors are PG::Error, here of the class that the server names.
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
            check_string(buffer)
            bytes = { value: buffer, type: 17, format: 1 } # bytea, binary
            number(connection, "lowrite(#{Integer(descriptor)}, $1)", [bytes])
          end

          # @return [String, nil] nil at the end
          def lo_read(connection, descriptor, length)
            if Integer(length).negative?
              raise ::PG::Error.new("negative length #{length} given", connection: connection)
            end

            bytes = ask(connection, "loread(#{Integer(descriptor)}, #{Integer(length)})", [], 1)
            bytes unless bytes.empty?
          end

          def lo_lseek(connection, descriptor, offset, whence)
            arguments = [descriptor, offset, whence].map { |value| Integer(value) }
            number(connection, "lo_lseek(#{arguments.join(", ")})")
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

          # The file is on this machine. It is read in parts.
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

          def check_string(value)
            return if value.is_a?(String)

            raise TypeError, "wrong argument type #{value.class} (expected String)"
          end

          def file(connection, path, mode, &block)
            check_string(path)
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

          # Independent of the connection's own type maps.
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
