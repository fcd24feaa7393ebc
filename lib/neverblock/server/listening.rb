# frozen_string_literal: true

# Opens the addresses of a configuration on an engine. A name is opened on all addresses of this
# machine that it has. An address that cannot be opened is an error of one line that tells how to
# mend it.

require "socket"
require "neverblock/errors"
require "neverblock/server/addresses"
require "neverblock/server/inheritance"
require "neverblock/server/port_holder"
require "neverblock/tls/identity"

module NeverBlock
  class Server
    class Listening
      # Ports below it need privilege (ip(7)); net.ipv4.ip_unprivileged_port_start may lower it.
      PRIVILEGED_BELOW = 1024

      # Most free ports that are tried for a name with several addresses: a port that is free at one
      # address may be busy at another.
      PORTS_TRIED = 16

      # @return [Array<String>] log lines about addresses of names that this machine does not have
      attr_reader :left_out

      # @param engine [Engine]
      # @param backlog [Integer]
      # @param admin [Boolean] whether the addresses are for the admin pages
      # @param port_holder [#describe]
      # @param addresses [Addresses]
      # @param tls [TLS::Listeners, nil] for https addresses
      # @param inheritance [Inheritance] sockets that addresses take
      def initialize(engine, backlog, admin: false, port_holder: PortHolder.new,
                     addresses: Addresses.new, tls: nil, inheritance: Inheritance.new)
        @engine = engine
        @backlog = backlog
        @admin = admin
        @port_holder = port_holder
        @addresses = addresses
        @tls = tls
        @inheritance = inheritance
        @left_out = []
      end

      # @param binds [Array<Config::Bind>]
      # @return [Array<String>] the URL of each with its real port; with the name, if it has several
      #   addresses here
      # @raise [StartError]
      def open(binds)
        binds.map { |bind| bind.unix? ? open_unix(bind) : open_tcp(bind) }
      end

      private

      # A certificate is read before anything is opened.
      def open_tcp(bind)
        context = @tls.context(bind) if bind.https?
        addresses = addresses_of(bind)
        first = @engine.listeners
        port, opened = open_on_one_port(bind.port, addresses)
        (first...@engine.listeners).each do |number|
          @tls.add(bind, number, context) if context
          @engine.listener_proxied(number) if bind.proxied
        end
        note_left_out(bind, addresses - opened)
        bind.url(opened.size > 1 ? bind.host : opened.first, port)
      rescue SystemCallError => e
        raise StartError, "#{failed(bind)}: #{explain_tcp(bind, e)}"
      rescue TLS::Unusable => e
        raise StartError, "#{failed(bind)}: #{e.message}"
      end

      # A port that is free at the first address may be busy at another; then another port is tried.
      def open_on_one_port(port, addresses)
        tries = port.zero? && addresses.size > 1 ? PORTS_TRIED : 1
        begin
          open_all(port, addresses)
        rescue Errno::EADDRINUSE
          (tries -= 1).positive? ? retry : raise
        end
      end

      # Opens all addresses, or none. An address that this machine does not have is skipped if there
      # is another.
      # @return [Array(Integer, Array<String>)] port and opened addresses
      def open_all(port, addresses)
        opened = []
        errors = []
        addresses.each do |address|
          @tried = address
          port = open_one(address, port)
          opened << address
        rescue *Addresses::ABSENT => e
          errors << e
        end
        raise errors.first if opened.empty?

        [port, opened]
      rescue Errno::EADDRINUSE
        opened.each { @engine.listen_undo }
        raise
      end

      def open_one(address, port)
        inherit(@inheritance.tcp(address, port))
        @admin ? @engine.admin_tcp(address, port) : @engine.listen_tcp(address, port, @backlog)
      end

      def inherit(socket)
        @engine.inherit(socket, @inheritance.keeps_paths?) if socket
      end

      def addresses_of(bind)
        @addresses.of(bind.host)
      rescue SocketError => e
        reason = e.message.sub(/\Agetaddrinfo: /, "")
        raise StartError, "#{failed(bind)}: the host #{bind.host.inspect} has no " \
                          "address (#{reason}); write an address, such as " \
                          "http://127.0.0.1:#{bind.port}"
      end

      # Not logged for "localhost": a machine without IPv6 has only one of its addresses.
      def note_left_out(bind, addresses)
        return if addresses.empty? || @addresses.localhost?(bind.host)

        @left_out << "#{bind} does not listen on #{addresses.join(", ")}, which #{bind.host} has " \
                     "too: this machine cannot use it"
      end

      # Which of the addresses it is: the file of the application may set admin too.
      def failed(bind)
        "cannot listen on #{bind}#{" (--admin, or the setting `admin`)" if @admin}"
      end

      def explain_tcp(bind, error)
        case error
        when Errno::EADDRINUSE then busy(bind)
        when Errno::EACCES, Errno::EPERM then forbidden(bind, error)
        when Errno::EADDRNOTAVAIL then no_such_address(bind)
        when Errno::EAFNOSUPPORT
          "this machine has no IPv6; write an IPv4 address, such as http://127.0.0.1:#{bind.port}"
        else reason(error)
        end
      end

      def forbidden(bind, error)
        return "the system forbids it (#{reason(error)})" unless bind.port < PRIVILEGED_BELOW

        "port #{bind.port} needs privilege; choose one from #{PRIVILEGED_BELOW} up, or allow it: " \
          "setcap cap_net_bind_service=+ep #{ruby_path}"
      end

      def no_such_address(bind)
        missing = @addresses.name?(bind.host) ? "that #{bind.host} has" : bind.host
        "this machine has no address #{missing}; 127.0.0.1 is this machine alone, " \
          "0.0.0.0 is every IPv4 address it has"
      end

      def busy(bind)
        holder = @port_holder.describe(bind.port) || "another program listens there"
        at = " of #{@tried}" unless bind.host == @tried
        "port #{bind.port}#{at} is busy: #{holder}; stop it, or choose another port#{choice(bind)}"
      end

      def choice(bind)
        return " for --admin; port 0 takes any free one" if @admin

        " with -p #{free_after(bind.port)}, or any free one with -p 0"
      end

      # Most ports that are looked at for one to propose.
      PORTS_LOOKED_AT = 20
      private_constant :PORTS_LOOKED_AT

      def free_after(port)
        return 9292 if port == 65_535

        later = (port + 1..[port + PORTS_LOOKED_AT, 65_535].min)
        later.find { |other| @port_holder.describe(other).nil? } || later.first
      end

      def open_unix(bind)
        inherit(@inheritance.unix(bind.path))
        if @admin then @engine.admin_unix(bind.path, bind.mode)
        else @engine.listen_unix(bind.path, bind.mode, @backlog)
        end
        @engine.listener_proxied(@engine.listeners - 1) if bind.proxied
        bind.url
      rescue SystemCallError => e
        raise StartError, "#{failed(bind)}: #{explain_unix(bind, e)}"
      end

      def explain_unix(bind, error)
        directory = File.dirname(bind.path)
        case error
        when Errno::EADDRINUSE, Errno::EEXIST then in_the_way(bind.path)
        when Errno::ENOENT, Errno::ENOTDIR then "there is no folder #{directory}; create it"
        when Errno::EACCES, Errno::EPERM
          "user #{::Process.euid} may not create files in #{directory}"
        when Errno::EROFS then "#{directory} is on a read-only file system"
        when Errno::ENAMETOOLONG then "the path is too long for a socket; choose a shorter one"
        else reason(error)
        end
      end

      def in_the_way(path)
        if !File.exist?(path) || File.socket?(path)
          return "another server listens there; stop it first, or choose another path"
        end

        "#{path} exists and is not a socket; remove it, or choose another path"
      end

      # The first line of the message, such as "Address already in use - bind(2)".
      def reason(error)
        error.message.lines.first.to_s.strip
      end

      def ruby_path
        defined?(RbConfig) ? RbConfig.ruby : "ruby"
      end
    end
  end
end
