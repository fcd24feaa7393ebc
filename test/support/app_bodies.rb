# frozen_string_literal: true

# Response bodies that tell what a server did with them.

require_relative "app_events"

module AppBodies
  # What all have in common: each close is told.
  module Told
    attr_reader :tag

    def close
      AppEvents.put("close", tag, fiber: Fiber.current.object_id)
      raise close_error if close_error
    end

    def close_error
      nil
    end
  end

  # Yields its parts. raise_at: the number of parts after which it raises. close_error: what close
  # raises.
  class Parts
    include Told

    attr_reader :close_error

    def initialize(tag, parts, raise_at: nil, close_error: nil)
      @tag = tag
      @parts = parts
      @raise_at = raise_at
      @close_error = close_error
    end

    def each
      @parts.each_with_index do |part, index|
        raise "each of #{tag} failed" if index == @raise_at

        AppEvents.put("part", tag, number: index)
        yield part
      end
      raise "each of #{tag} failed" if @raise_at == @parts.size
    end
  end

  # A second part only when the gate is opened.
  class Gated
    include Told

    def initialize(tag, gate)
      @tag = tag
      @gate = gate
    end

    def each
      yield "one"
      @gate.pop
      yield "two"
    end
  end

  # The same part again and again.
  class Repeated
    include Told

    def initialize(tag, part, times)
      @tag = tag
      @part = part
      @times = times
    end

    def each
      @times.times { yield @part }
      AppEvents.put("end", tag)
    end
  end

  # Goes on until the server gives up.
  class Endless
    include Told

    def initialize(tag, part)
      @tag = tag
      @part = part
    end

    def each
      AppEvents.put("started", tag)
      loop do
        yield @part
        sleep 0.001
      end
    ensure
      AppEvents.put("unwound", tag)
    end
  end

  # A file by its path. each must not be needed: a server that sends files itself never calls it.
  class FileByPath
    include Told

    attr_reader :to_path

    def initialize(tag, path)
      @tag = tag
      @to_path = path
    end

    def each
      AppEvents.put("each", tag)
      File.open(@to_path, "rb") { |file| yield file.read(65_536) until file.eof? }
    end
  end

  # to_ary ends in close, as Rack asks of a body that has both.
  class ToAry < Parts
    def to_ary
      @parts
    ensure
      close
    end
  end

  # An Array with a close.
  class ClosableArray < Array
    include Told

    def initialize(tag, parts)
      @tag = tag
      super(parts)
    end
  end
end
