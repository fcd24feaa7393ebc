# frozen_string_literal: true

# Machines on a network of their own: network namespaces with an address each, on a bridge. Needs
# root and iproute2. Everything is taken away by #remove.

require "open3"

class NodeNet
  # Why there can be none here, or nil.
  def self.problem
    return "needs root" unless Process.uid.zero?
    return "needs ip (iproute2)" unless system("ip", "netns", out: File::NULL, err: File::NULL)

    nil
  end

  # @return [String] this machine's address on the network
  attr_reader :here

  # @param count [Integer] of machines
  def initialize(count)
    @name = "nb#{Process.pid}"
    @subnet = "10.#{71 + (Process.pid % 100)}.#{Process.pid / 100 % 250}"
    @here = "#{@subnet}.1"
    @count = count
  end

  def make
    ip("link", "add", bridge, "type", "bridge")
    ip("addr", "add", "#{@here}/24", "dev", bridge)
    ip("link", "set", bridge, "up")
    @count.times { |number| make_node(number) }
    self
  end

  # @return [String]
  def address(number) = "#{@subnet}.#{11 + number}"

  # @return [Array<String>] before a command that runs on that machine
  def on(number) = ["ip", "netns", "exec", space(number)]

  def remove
    @count.times { |number| system("ip", "netns", "del", space(number), err: File::NULL) }
    system("ip", "link", "del", bridge, err: File::NULL)
  end

  private

  def bridge = "#{@name}b"
  def space(number) = "#{@name}n#{number}"

  def make_node(number)
    outer = "#{@name}o#{number}"
    ip("netns", "add", space(number))
    ip("link", "add", outer, "type", "veth", "peer", "name", "eth0", "netns", space(number))
    ip("link", "set", outer, "master", bridge, "up")
    inside = ["-n", space(number)]
    ip(*inside, "addr", "add", "#{address(number)}/24", "dev", "eth0")
    ip(*inside, "link", "set", "eth0", "up")
    ip(*inside, "link", "set", "lo", "up")
  end

  def ip(*words)
    output, status = Open3.capture2e("ip", *words)
    raise "ip #{words.join(" ")}: #{output}" unless status.success?
  end
end
