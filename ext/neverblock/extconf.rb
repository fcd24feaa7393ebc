# frozen_string_literal: true

# Writes the Makefile of the extension: an explicit list of sources for each folder of the data
# flow, and probes for what differs between the supported Rubies and systems. The flat object
# directory asks that basenames are unique across folders.
#
#   ruby extconf.rb --enable-debug                    -O0 and asserts for slow checks
#   ruby extconf.rb --without-openssl                 without TLS (also --disable-tls)
#   ruby extconf.rb --without-nghttp2                 without HTTP/2 (also --disable-http2)
#   ruby extconf.rb --without-zlib                    without gzip
#   ruby extconf.rb --without-brotli --without-zstd   without br and zstd
#   ruby extconf.rb --disable-compression             without gzip, br and zstd
#   ruby extconf.rb --with-openssl-dir=DIR            where a library is (openssl, nghttp2, zlib,
#                                                     brotli, zstd)
#   ruby extconf.rb --enable-coverage                 counts what runs, for bin/coverage
#   ruby extconf.rb --enable-sanitize=address|thread  run it with the sanitizer's library preloaded

require "mkmf"

SOURCES = {
  "core/base" => %w[
    alloc assert buffer call_sites histogram log pool ring status tally text timer utf8
  ],
  "core/os" => %w[
    clock descriptor_pipe descriptors file folder fork imports kernel_tls memory net open_beneath
    openat2 page_cache resolver shared_memory subreaper syscalls thread traced workers
  ],
  "core/poll" => %w[poll poll_epoll poll_kqueue poll_poll wake watchdog],
  "core/sendfile" => %w[sendfile_darwin sendfile_freebsd sendfile_linux sendfile_portable],
  "core/tls" => %w[tls_context tls_none tls_tickets],
  "core/transport" => %w[proxy_header tcp tls],
  "core/http" => %w[byte_class date field_name host status_code trace_context],
  "core/http2" => %w[http2_head http2_message http2_priority],
  "core/http1" => %w[body_decoder chunked framing head_parser head_writer],
  "core/mysql" => %w[answer],
  "core/stall" => %w[stall stall_entry stall_places stall_watch],
  "core/intake" => %w[
    account body channel fiber_table kept_request message observation observed path_pattern
    pool_gauges request slowest stalled throttle waterfall
  ],
  "core/files" => %w[
    accept_encoding cache_rules conditional etag file_request mime multipart open_file open_files
    path ranges top_names
  ],
  "core/coding" => %w[br bytes encoder gzip zstd],
  "core/send" => %w[
    algorithms pace send_queue sender_auto sender_eba sender_enba sender_sba sending
  ],
  "core/dispatch" => %w[
    dispatch dispatch_requeue dispatch_spares exchange lane_rules lanes learned queues routes
    waiting
  ],
  "core/metrics" => %w[downloads exemplars reports request_log server_timing stages],
  "core/responses" => %w[
    challenges compose compressible compression document_roots file_response named opening
    static
  ],
  "core/connection" => %w[
    connection connection_handshake connection_proxied connection_send connection_tunnel delivery
    responding timeouts upload
  ],
  "core/protocols" => %w[
    http1_response http1_session http2_bodies http2_life http2_none http2_order http2_requests
    http2_response http2_session http2_streams http2_timeouts
  ],
  "core/loop" => %w[accepting lease listener loop loops parts slow_clients snapshot],
  "core/admin" => %w[
    admin admin_actions admin_advice admin_events admin_fibers admin_host admin_metrics
    admin_observed admin_slowest admin_status fiber_choice json openmetrics shown shown_request
  ],
  "core/server" => %w[server server_listen],
  "binding/base" => %w[exit_limit forks module process_watchdog protect ruby_log],
  "binding/mysql" => %w[mysql mysql_handles mysql_unlock],
  "binding/engine" => %w[engine engine_algorithms engine_files engine_reports engine_tls link],
  "binding/state" => %w[
    accounting children fiber_record heap held_back inbox loop_time object parked serving sleeper
    timeslice_state wait watches
  ],
  "binding/fibers" => %w[cursor ffi_state frames pin region resume root start transfer],
  "binding/scheduler" => %w[beneath event_loop limit park scheduler],
  "binding/timeslices" => %w[interrupt timeslice timeslice_job timeslice_lock timeslice_look],
  "binding/hooks" => %w[
    closing descriptor_about fiber_hooks file_io hooks io mutex process resolve timeout
  ],
  "binding/ports" => %w[port running writing],
  "binding/rack" => %w[
    body_writer env env_keys hijack hints input own_chunks response response_file response_head
    response_parts timing upgrade
  ],
  "binding/stalls" => %w[
    blockers places stalls stalls_answer stalls_reporter stalls_signal stalls_tell stalls_trace
    watched
  ],
  "binding/executor" => %w[
    entry executor executor_figures fiber_traces kept_requests messages observed_requests pools
    requests slow_requests source spare task
  ],
  "binding" => %w[neverblock]
}.freeze

# Ruby's own headers are not clean under the core's stricter set, which bin/check applies without
# them.
WARNINGS = %w[-Wall -Wextra -Wshadow -Wno-unused-parameter].freeze

abort "neverblock needs Ruby 3.1 or newer, this is #{RUBY_VERSION}" if RUBY_VERSION < "3.1"

# Ruby's own API, by version.
have_func("rb_fiber_scheduler_blocking_operation_wait", "ruby/fiber/scheduler.h")
have_func("rb_fiber_scheduler_fiber_interrupt", "ruby/fiber/scheduler.h")
have_func("rb_fiber_scheduler_io_close", "ruby/fiber/scheduler.h")
have_func("rb_fiber_scheduler_io_select", "ruby/fiber/scheduler.h")
have_func("rb_postponed_job_preregister", "ruby/debug.h")
have_func("rb_profile_thread_frames", "ruby/debug.h")
have_func("rb_hash_new_capa", "ruby.h")
have_func("rb_interned_str", "ruby.h")
have_func("rb_enc_interned_str", "ruby/encoding.h")
have_func("rb_fiber_new_storage", "ruby.h")
have_func("rb_io_descriptor", "ruby/io.h")
have_func("rb_io_mode", "ruby/io.h")
have_func("rb_io_timeout", "ruby/io.h")
have_func("rb_process_status_wait", "ruby.h")
have_func("rb_objspace_garbage_object_p")

# The system's.
have_header("sys/epoll.h")
have_header("sys/event.h")
have_header("sys/eventfd.h")
have_header("sys/sendfile.h")
have_library("rt", "shm_open") # glibc before 2.34
have_library("dl", "dlsym") # glibc before 2.34
have_func("accept4", "sys/socket.h")
have_func("epoll_pwait2", "sys/epoll.h")
have_func("malloc_usable_size", "malloc.h")
have_func("pipe2", "unistd.h")
have_func("preadv2", "sys/uio.h")

# What is built without a library that is not there, or not wanted.
left_out = []

# @param name [String] of the library, as in --without-NAME and --with-NAME-dir
# @param feature [String] as in --disable-FEATURE
# @param package [String] Debian's, with its headers
# @param lost [String] what the server does without it
# @yieldreturn [Boolean] whether it is there
optional = lambda do |name, feature, package, lost, &probe|
  dir_config(name)
  unwanted = !enable_config(feature, true) || with_config(name) == false
  next true if !unwanted && probe.call

  left_out << "without #{name}: #{lost} (#{unwanted ? "as asked" : "it needs #{package}"})"
  false
end

# 1.1.1
if optional.call("openssl", "tls", "libssl-dev", "https:// addresses are refused") {
     have_header("openssl/ssl.h") &&
     have_library("crypto", "OpenSSL_version", "openssl/crypto.h") &&
     have_library("ssl", "SSL_CTX_set_ciphersuites", "openssl/ssl.h")
   }
  $defs << "-DNB_HAVE_TLS"
end

# 1.40
if optional.call("nghttp2", "http2", "libnghttp2-dev", "no HTTP/2") {
     have_header("nghttp2/nghttp2.h") &&
     have_library("nghttp2", "nghttp2_option_set_max_outbound_ack", "nghttp2/nghttp2.h")
   }
  # 1.61. Another libnghttp2 of the machine may have it, of which these headers know nothing.
  declared = "-Werror=implicit-function-declaration"
  continuations = "nghttp2_option_set_max_continuations"
  if checking_for(continuations) {
       try_link("#include <nghttp2/nghttp2.h>\n" \
                "int main(void) { #{continuations}(0, 0); return 0; }", declared)
     }
    $defs << "-DHAVE_#{continuations.upcase}"
  end
  $defs << "-DNB_HAVE_HTTP2"
end

if optional.call("zlib", "compression", "zlib1g-dev", "no response is compressed as gzip") {
     have_header("zlib.h") && have_library("z", "deflateInit2_", "zlib.h")
   }
  $defs << "-DNB_HAVE_ZLIB"
end
if optional.call("brotli", "compression", "libbrotli-dev", "no response is compressed as br") {
     have_header("brotli/encode.h") &&
     have_library("brotlienc", "BrotliEncoderCompressStream", "brotli/encode.h")
   }
  $defs << "-DNB_HAVE_BROTLI"
end
# 1.4
if optional.call("zstd", "compression", "libzstd-dev", "no response is compressed as zstd") {
     have_header("zstd.h") && have_library("zstd", "ZSTD_compressStream2", "zstd.h")
   }
  $defs << "-DNB_HAVE_ZSTD"
end

$CFLAGS = "#{$CFLAGS.gsub(/(^| )-std=\S+/, "")} -std=c11"
$defs << "-D_GNU_SOURCE"
$warnflags = WARNINGS.join(" ")
append_cflags(%w[-O3 -fvisibility=hidden -MMD -MP])
have_library("pthread")

if enable_config("debug", false)
  $CFLAGS << " -O0 -g3"
  $defs << "-DNB_DEBUG"
end

if enable_config("coverage", false)
  $CFLAGS << " -O0 --coverage"
  $LDFLAGS << " --coverage"
end

if (sanitizer = arg_config("--enable-sanitize")) # enable_config knows yes and no only
  flag = { "address" => "address,undefined", "thread" => "thread" }.fetch(sanitizer) do
    abort "--enable-sanitize=#{sanitizer}: one of address, thread"
  end
  $CFLAGS << " -O1 -g -fno-omit-frame-pointer -fsanitize=#{flag}"
  $LDFLAGS << " -fsanitize=#{flag}"
  # Ruby leaves C frames by longjmp on fibers' stacks, whose red zones then stay (google/sanitizers
  # issue 189).
  append_cflags("--param=asan-stack=0") if sanitizer == "address"
end

$srcs = SOURCES.flat_map { |folder, names| names.map { |name| "$(srcdir)/#{folder}/#{name}.c" } }
$objs = SOURCES.values.flatten.map { |name| "#{name}.o" }
$VPATH.concat(SOURCES.keys.map { |folder| "$(srcdir)/#{folder}" })
$INCFLAGS << " -I$(srcdir) -I$(srcdir)/core"

create_makefile("neverblock/neverblock")

left_out.each { |line| message("neverblock: %s\n", line) }
