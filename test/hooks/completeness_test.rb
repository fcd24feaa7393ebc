# frozen_string_literal: true

# "Every way to wait" is checked: each public method of Ruby's core classes that deal with the world
# or with other threads has a row or is named among those that do not wait. A new Ruby's new method
# makes this fail until somebody decides.

require "test_helper"
require "io/console"
require "io/nonblock"
require "io/wait"
require "monitor"
require "socket"
require "timeout"
require "hooks/support/hook_table"
require "hooks/support/no_waits"

class HookCompletenessTest < Minitest::Test
  CLASSES = [
    IO, IO::Buffer, File, File::Stat, Dir, BasicSocket, Socket, IPSocket, TCPSocket, TCPServer,
    UDPSocket, UNIXSocket, UNIXServer, Addrinfo, Thread, Thread::Queue, Thread::SizedQueue,
    Thread::Mutex, Thread::ConditionVariable, Monitor, MonitorMixin::ConditionVariable,
    Enumerator, Enumerator::Lazy, Fiber, Ractor, Kernel
  ].freeze
  MODULES = [
    IO, IO::Buffer, File, Dir, BasicSocket, Socket, IPSocket, TCPSocket, TCPServer, UNIXSocket,
    Addrinfo, Thread, Enumerator, Fiber, Ractor, Process, Process::Status, Timeout, Signal
  ].freeze
  # The parts of these classes that are written in Ruby. Other libraries add methods too, and so do
  # this project and the tests' tools.
  IN_RUBY = %r{\A<internal:|/(socket|monitor|timeout|io/console/size)\.rb\z}

  CLASSES.each do |klass|
    define_method("test_every_instance_method_of_#{klass}_has_a_row_or_does_not_wait") do
      names = klass.instance_methods(false)
      names |= klass.private_instance_methods(false) if klass == Kernel
      decided("#{klass}#", names.select { |name| rubys_own?(klass.instance_method(name)) })
    end
  end

  MODULES.each do |klass|
    define_method("test_every_method_of_#{klass}_itself_has_a_row_or_does_not_wait") do
      methods = klass.singleton_methods(false)
      decided("#{klass}.", methods.select { |name| rubys_own?(klass.method(name)) })
    end
  end

  def test_a_method_nobody_has_decided_about_is_found
    assert_equal ["IO#wait_for_godot"], undecided("IO#", %i[wait_for_godot read])
  end

  def test_nothing_stands_among_those_that_do_not_wait_and_has_a_row
    quiet = HookTable::NO_WAITS.flat_map do |prefix, names|
      names == :all ? [] : names.map { |name| "#{prefix}#{name}" }
    end
    both = quiet & rows
    assert_empty both
  end

  private

  def decided(prefix, names)
    missing = undecided(prefix, names)
    assert_empty missing, "new in Ruby #{RUBY_VERSION}? Write a row, or name it in " \
                          "test/hooks/support/no_waits.rb"
  end

  def undecided(prefix, names)
    quiet = HookTable::NO_WAITS.fetch(prefix, [])
    return [] if quiet == :all

    names = names.map(&:to_s).grep_v(/\Aneverblock_/) # Ruby's own, under the method that calls it
    (names - quiet).map { |name| "#{prefix}#{name}" } - rows
  end

  def rows
    @rows ||= HookTable.load.flat_map { |row| [row.name, *row.also] }
  end

  def rubys_own?(method)
    file, = method.source_location
    file.nil? || IN_RUBY.match?(file)
  end
end
