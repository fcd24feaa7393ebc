# frozen_string_literal: true

# A name server for the rows that resolve names: a process on an address of its own of the loopback
# network. The row's process alone takes that address for the machine's name server (resolv.conf,
# mounted over in a namespace of its own). The server keeps the questions until it is told to
# answer.

require "resolv"
require "socket"

module HookTable
  module Names
    UNSHARE = { "x86_64" => 272, "aarch64" => 97 }.freeze
    CLONE_NEWNS = 0x20000
    ADDRESS = "127.0.0.9"
    NAME = "reverse.hook-table.test"

    # From here on what this process mounts is seen by it and its children only.
    def private_mounts
      cpu = RbConfig::CONFIG["host_cpu"]
      number = UNSHARE[cpu] || unavailable("how to unshare mounts on #{cpu} is not known here")
      unavailable("a private mount needs root") unless Process.uid.zero?
      syscall(number, CLONE_NEWNS)
      # In a chroot "/" may be no mount point. The mounts below are then private if those around it
      # are.
      mount("--make-rprivate", "/") if File.read("/proc/self/mountinfo").include?(" shared:")
    rescue SystemCallError, NotImplementedError => e
      unavailable("no private mounts: #{e.message}")
    end

    # @param within_s [Numeric, nil] seconds after which it answers by itself
    # @return [IO] write to it, and the questions so far and to come are answered
    def name_server(within_s: nil)
      private_mounts
      server = UDPSocket.new
      address = "127.#{(Process.pid >> 8) % 200 + 20}.#{Process.pid & 255}.53"
      server.bind(address, 53)
      resolv_conf = "nameserver #{address}\noptions timeout:20 attempts:1\n"
      mount("--bind", file(resolv_conf, name: "resolv.conf"), "/etc/resolv.conf")
      reader, gate = IO.pipe
      fork { serve_names(server, reader, within_s) }
      gate
    rescue Errno::EACCES, Errno::EADDRINUSE => e
      unavailable("no name server on port 53: #{e.message}")
    end

    private

    def mount(*arguments)
      system("mount", *arguments, exception: true)
    rescue Errno::ENOENT, RuntimeError => e
      unavailable("no private mounts: #{e.message}")
    end

    def serve_names(server, gate, within_s)
      questions = []
      while IO.select([server, gate])&.first&.include?(server) && !(within_s && sleep(within_s))
        questions << server.recvfrom(512)
      end
      loop do
        questions.each do |message, (_, port, _, host)|
          server.send(answer_to(message), 0, host, port)
        end
        questions = [server.recvfrom(512)]
      end
    end

    def answer_to(message)
      answer = Resolv::DNS::Message.decode(message)
      answer.qr = 1
      answer.ra = 1
      name, type = answer.question.first
      case type::TypeValue # not the class: resolv of Ruby 3.4 decodes PTR to a nameless one
      when 12
        target = Resolv::DNS::Name.create("#{NAME}.")
        answer.add_answer(name, 60, Resolv::DNS::Resource::IN::PTR.new(target))
      when 1
        answer.add_answer(name, 60, Resolv::DNS::Resource::IN::A.new(ADDRESS))
      end
      answer.encode
    end
  end
end
