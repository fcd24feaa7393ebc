# frozen_string_literal: true

# `neverblock files DIR`: serves a folder by the file server, with a listing where it finds no file.

require "socket"
require "neverblock/boot/launch"
require "neverblock/cli/download_line"
require "neverblock/cli/files_options"
require "neverblock/cli/output"
require "neverblock/config/environment"
require "neverblock/files/listing"

module NeverBlock
  module CLI
    class Files
      include Output

      EVERY_ADDRESS = { "0.0.0.0" => :ipv4?, "[::]" => :ip? }.freeze
      # Most addresses of this machine that are printed.
      ADDRESSES_MAX = 4

      # @param argv [Array<String>] what follows the command
      # @param out [IO]
      # @param screen [IO] receives the status line of downloads, when it is a terminal
      def initialize(argv, out: $stdout, screen: $stderr)
        @options = FilesOptions.new(argv)
        @out = out
        @screen = screen
      end

      # Serves until it is told to stop.
      # @return [Integer] exit status
      # @raise [Error]
      def run
        return show(@options.help_text) if @options.help

        settings = @options.settings
        settings.binds
        listing = NeverBlock::Files::Listing.new(@options.folder, symlinks: settings[:symlinks])
        environment = Config::Environment.new({ "RACK_ENV" => "production" })
        greet = lambda do |server|
          listing.refused.log = server.log
          greet(server, settings)
        end
        Boot::Launch.new(settings, environment, out: @out, greet: greet)
                    .run(deep: false) { listing }
      ensure
        @line&.stop
      end

      private

      def greet(server, settings)
        lines = server.urls.flat_map { |url| elsewhere(url) }
        lines.each { |url| @out.puts("  from other machines: #{url}") }
        @out.puts("Serving #{@options.folder}; Ctrl-C stops#{hint(server)}")
        @out.flush
        @line = DownloadLine.new(@screen, server).start unless settings[:log_requests]
      rescue SystemCallError # nobody reads the output
        nil
      end

      # The option is of http:// alone.
      def hint(server)
        "; for other machines: -o 0.0.0.0" if server.urls.all? { |url| url.match?(LOOPBACK) }
      end

      LOOPBACK = %r{\Ahttp://(127\.|\[::1\]|localhost)}.freeze
      private_constant :LOOPBACK

      # @return [Array<String>] URLs for other machines, when the URL means every address
      def elsewhere(url)
        scheme, host, port = url.match(%r{\A(https?)://(\[[^\]]*\]|[^:/]+)(:\d+)?})&.captures
        family = EVERY_ADDRESS[host] or return []
        found = Socket.ip_address_list.select do |address|
          address.public_send(family) && !local?(address)
        end
        found.first(ADDRESSES_MAX).map { |address| "#{scheme}://#{host_of(address)}#{port}/" }
      end

      def local?(address)
        address.ipv4_loopback? || address.ipv6_loopback? || address.ipv6_linklocal?
      end

      def host_of(address)
        address.ipv6? ? "[#{address.ip_address}]" : address.ip_address
      end
    end
  end
end
