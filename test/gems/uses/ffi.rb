# frozen_string_literal: true

Gems.use "ffi" do
  requires "ffi"
  setup do
    LIBC = Module.new do
      extend FFI::Library

      ffi_lib FFI::Library::LIBC
      attach_function :close, [:int], :int
      attach_function :rmdir, [:string], :int
      attach_function :strlen, [:string], :size_t
    end
  end
  answer do |id|
    failing = [-> { LIBC.close(-1) }, -> { LIBC.rmdir("/nonexistent") }].rotate(id.sum)
    [LIBC.strlen(id), *failing.map { |call| [call.call, Hunt.nap && FFI.errno] },
     *failing.map { |call| [call.call, Hunt.spin(100_000) && FFI.errno] }]
  end
end
