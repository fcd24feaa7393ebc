# frozen_string_literal: true

# Writes the first inputs of the targets of HTTP/2, from the table of conformance
# (test/conformance/http2): ruby -rbundler/setup test/c/fuzz/seeds_http2.rb FOLDER
# `bin/fuzz http2_frames --keep` chooses the ones that are worth keeping, from corpus/NAME and from
# build/fuzz/corpus/NAME: FOLDER is the latter's parent.

require "digest"
require "fileutils"

require_relative "../../conformance/http2/table"

module SeedsHttp2
  include Http2Wire

  # Larger inputs are kept by nobody (bin/fuzz).
  BYTES_MAX = 1024
  # Paths that the C executor answers in its own ways (test/c/support/c_executor.h).
  PATHS = %w[/hello /big/90000 /chunked/40000 /lump/9000 /file/9 /hold /never /late /hijack
             /hijackhead /abort /abortchunked /aborthead /short /long /hints /hints/3 /hintslate
             /status/204 /status/304 /fields/900 /count /slow /duplex /headfirst /silent /].freeze

  module_function

  def run(folder)
    inputs = Conformance::Http2.table.rows.flat_map(&:inputs)
    streams = inputs.map { |input| input.stages.grep(String).join } + exchanges
    streams.each_with_index do |bytes, number|
      write(folder, "http2_frames", frames(bytes, number))
      blocks = blocks(bytes)
      write(folder, "http2_blocks", blocks_input(blocks, number))
      heads(blocks).each { |fields| write(folder, "http2_head", head_input(fields, number)) }
    end
  end

  # Each path of the executor, with and without a body.
  def exchanges
    PATHS.flat_map do |path|
      get = Frames.get(1, path: path)
      post = Frames.post(1, path: path) + Frames.data(1, "a" * 200) + Frames.last_data(1, "b" * 100)
      [get, post, get + Frames.rst_stream(1), post + Frames.get(3, path: path, method: "HEAD")]
    end
  end

  # Cuts, flags, no allocation that fails; see fuzz_http2_frames.c.
  def frames(bytes, number)
    bare = bytes.start_with?(PREFACE + Frames.settings)
    bytes = bytes.delete_prefix(PREFACE).delete_prefix(Frames.settings) if bare
    [85 * (number % 3), 128, 200, bare ? number % 16 : 16 + (number % 16), 0].pack("C5") + bytes
  end

  # The field blocks of frames, each with its CONTINUATION frames.
  def blocks(bytes)
    Frames.split(bytes).each_with_object([]) do |frame, blocks|
      next if frame.bytesize < 9

      case frame.getbyte(3)
      when HEADERS then blocks << frame.byteslice(9..)
      when CONTINUATION then blocks.last&.concat(frame.byteslice(9..))
      end
    end
  end

  # See fuzz_http2_blocks.c.
  def blocks_input(blocks, number)
    [number % 8].pack("C") + blocks.map { |block| [block.bytesize].pack("n") + block }.join
  end

  # @return [Array<Array>] the fields of blocks that can be read
  def heads(blocks)
    context = Protocol::HPACK::Context.new
    blocks.filter_map do |block|
      Protocol::HPACK::Decompressor.new(block, context, table_size_limit: 4096).decode
    rescue StandardError # a block made to be malformed
      nil
    end
  end

  # See fuzz_http2_head.c.
  def head_input(fields, number)
    fields = fields.reject { |name, value| name.bytesize > 255 || value.bytesize > 255 }
    [number % 8].pack("C") + fields.map { |name, value|
      [name.bytesize, value.bytesize].pack("CC") + name.b + value.b
    }.join
  end

  def write(folder, target, input)
    return if input.bytesize > BYTES_MAX

    path = File.join(folder, target)
    FileUtils.mkdir_p(path)
    File.binwrite(File.join(path, Digest::SHA1.hexdigest(input)), input)
  end
end

SeedsHttp2.run(ARGV.fetch(0)) if $PROGRAM_NAME == __FILE__
