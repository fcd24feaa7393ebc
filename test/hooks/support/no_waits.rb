# frozen_string_literal: true

# The methods of Ruby's core that do not wait, or wait only as another one does that has a row.
# Whatever is neither here nor in a row makes the completeness check fail: a new Ruby's new method
# needs somebody to decide. Names that a Ruby does not have do no harm.

module HookTable
  NO_WAITS = {
    # ioctl(2): of a device's own; close_read, close_write: shutdown(2) or #close; the console's:
    # ioctl(2), or #getch and #write; each_codepoint: as each_char
    "IO#" => %w[
      advise autoclose= autoclose? binmode binmode? close_on_exec= close_on_exec? close_read
      close_write closed? each_codepoint external_encoding fileno inspect internal_encoding isatty
      lineno lineno= path pid pos= pos rewind set_encoding set_encoding_by_bom sync sync= tell
      timeout to_i to_io to_path tty? ungetbyte ungetc nread nonblock nonblock= nonblock? ready?
      ttyname ioctl beep check_winsize_changed clear_screen console_mode console_mode= cooked!
      cursor= cursor_down cursor_left cursor_right cursor_up echo= echo? erase_line erase_screen
      goto goto_column iflush ioflush oflush pressed? raw! scroll_backward scroll_forward winsize
      winsize= pathconf
    ],
    "IO." => %w[console console_size default_console_size for_fd try_convert],
    "File#" => %w[path to_path],
    "File." => %w[
      absolute_path absolute_path? basename dirname expand_path extname fnmatch fnmatch? join path
      split umask exists?
    ],
    "File::Stat#" => :all,
    "Dir#" => %w[close fileno inspect path pos pos= rewind seek tell to_path],
    "Dir." => %w[chroot exists? for_fd getwd home pwd],
    "BasicSocket#" => %w[
      close_read connect_address do_not_reverse_lookup do_not_reverse_lookup= getpeereid getpeername
      getsockname getsockopt local_address remote_address setsockopt
    ],
    "BasicSocket." => %w[do_not_reverse_lookup do_not_reverse_lookup= for_fd],
    "Socket#" => %w[bind ipv6only! listen],
    "Socket." => %w[
      gethostname getifaddrs getservbyname getservbyport ip_address_list pack_sockaddr_un pair
      sockaddr_un socketpair tcp_fast_fallback tcp_fast_fallback= tcp_with_fast_fallback
      tcp_without_fast_fallback unpack_sockaddr_in unpack_sockaddr_un
    ], # tcp_with_fast_fallback, tcp_without_fast_fallback: what Socket.tcp calls
    "IPSocket#" => %w[inspect],
    "IPSocket." => [],
    "TCPSocket#" => [],
    "TCPSocket." => [],
    "TCPServer#" => %w[listen],
    "TCPServer." => [],
    "UDPSocket#" => %w[bind connect],
    "UNIXSocket#" => %w[addr path peeraddr],
    # connect(2) of a UNIX socket that does not block never waits; when the listener's queue is full
    # Ruby takes EAGAIN for EINPROGRESS (init.c, rsock_connect).
    "UNIXSocket." => %w[pair socketpair],
    "UNIXServer#" => %w[listen],
    "Addrinfo#" => %w[
      afamily bind canonname family_addrinfo inspect inspect_sockaddr ip? ip_address ip_port
      ip_unpack ipv4? ipv4_loopback? ipv4_multicast? ipv4_private? ipv6? ipv6_linklocal?
      ipv6_loopback? ipv6_mc_global? ipv6_mc_linklocal? ipv6_mc_nodelocal? ipv6_mc_orglocal?
      ipv6_mc_sitelocal? ipv6_multicast? ipv6_sitelocal? ipv6_to_ipv4 ipv6_unique_local?
      ipv6_unspecified? ipv6_v4compat? ipv6_v4mapped? listen marshal_dump marshal_load pfamily
      protocol socktype to_s to_sockaddr unix? unix_path
    ],
    "Addrinfo." => %w[unix],
    "Thread#" => %w[
      [] []= abort_on_exception abort_on_exception= add_trace_func alive? backtrace
      backtrace_locations exit fetch group inspect key? keys kill name name= native_thread_id
      pending_interrupt? priority priority= report_on_exception report_on_exception= run
      set_trace_func status stop? terminate thread_variable? thread_variable_get thread_variable_set
      thread_variables to_s wakeup
    ],
    "Thread." => %w[
      abort_on_exception abort_on_exception= current each_caller_location exit fork handle_interrupt
      ignore_deadlock ignore_deadlock= kill list main new pending_interrupt? report_on_exception
      report_on_exception= start
    ],
    "Thread::Queue#" => %w[
      << clear close closed? empty? enq freeze length marshal_dump num_waiting push size
    ],
    "Thread::SizedQueue#" => %w[
      clear close closed? empty? freeze length marshal_dump max max= num_waiting size
    ],
    "Thread::Mutex#" => %w[locked? owned? try_lock unlock],
    "Thread::ConditionVariable#" => %w[broadcast marshal_dump signal],
    "Monitor#" => %w[
      exit mon_check_owner mon_exit mon_locked? mon_owned? mon_try_enter new_cond try_enter
      try_mon_enter
    ],
    "MonitorMixin::ConditionVariable#" => %w[broadcast signal],
    "Enumerator#" => %w[+ feed inspect rewind size each_with_object],
    "Enumerator." => %w[product],
    # Each is Enumerator#each, or makes another that is.
    "Enumerator::Lazy#" => :all,
    "Fiber#" => %w[
      alive? backtrace backtrace_locations blocking? inspect kill storage storage= to_s transfer
    ],
    "Fiber." => %w[[] []= blocking? current current_scheduler scheduler set_scheduler yield],
    "Ractor#" => %w[<< [] []= close_incoming close_outgoing inspect name send to_s],
    "Ractor." => %w[
      [] []= _require count current main main? make_shareable new require shareable? store_if_absent
      yield
    ],
    "IO::Buffer#" => %w[
      & <=> ^ and! clear copy each each_byte empty? external? free get_string get_value get_values
      hexdump inspect internal? locked locked? mapped? not! null? or! private? readonly? resize
      set_string set_value set_values shared? size slice to_s transfer valid? values xor! | ~
    ],
    "IO::Buffer." => %w[for map new size_of string],
    "Process." => %w[
      _fork abort argv0 clock_getres clock_gettime daemon egid egid= euid euid= exec exit exit!
      getpgid getpgrp getpriority getrlimit getsid gid gid= groups groups= initgroups kill
      last_status maxgroups maxgroups= pid ppid setpgid setpgrp setpriority setproctitle setrlimit
      setsid times uid uid= warmup
    ],
    "Process::Status#" => :all,
    "Timeout." => %w[ensure_timeout_thread_created],
    "Signal." => %w[list signame],
    "Kernel#" => %w[
      no_warning_require Array Complex Float Hash Integer Pathname Rational String __callee__
      __dir__ __method__ abort at_exit autoload? binding block_given? caller caller_locations catch
      exec exit exit! fail format gem gem_original_require global_variables iterator? lambda
      local_variables loop proc raise rand set_trace_func sprintf srand syscall throw trace_var
      untrace_var !~ <=> === =~ class clone define_singleton_method dup enum_for eql? extend freeze
      frozen? hash initialize_clone initialize_copy initialize_dup inspect instance_of?
      instance_variable_defined? instance_variable_get instance_variable_names instance_variable_set
      instance_variables is_a? itself kind_of? method methods nil? object_id private_methods
      protected_methods public_method public_methods public_send remove_instance_variable
      respond_to? respond_to_missing? send singleton_class singleton_method singleton_methods taint
      tainted? tap then to_enum to_s trust untaint untrust untrusted? yield_self eval
    ] # syscall: whatever it is told to
  }.freeze
end
