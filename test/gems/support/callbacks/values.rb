# frozen_string_literal: true

# rubocop:disable Style/RescueModifier -- what is raised is a part of the answer

class GemCallbacks
  # Numbers, texts and bytes.
  module Values
    # Modes and limit are the fiber's.
    def bigdecimal_modes(me, turn)
      BigDecimal.save_rounding_mode do
        BigDecimal.save_limit do
          modes = [BigDecimal::ROUND_UP, BigDecimal::ROUND_DOWN, BigDecimal::ROUND_HALF_EVEN]
          BigDecimal.mode(BigDecimal::ROUND_MODE, modes[me % 3])
          BigDecimal.limit(3 + (me % 5))
          Array.new(5) do |n|
            turn.call && [(BigDecimal(me + 2) / (n + 7)).to_s, BigDecimal("#{n}.125").round(2).to_s,
                          BigDecimal.limit]
          end
        end
      end
    end

    def bigdecimal_coerce(me, turn)
      slow = Class.new { define_method(:coerce) { |other| [other, turn.call(BigDecimal(me))] } }
      Array.new(5) { |n| (BigDecimal(n) + slow.new).to_s }
    end

    def strscan(me, turn)
      slow = Class.new { define_method(:to_str) { turn.call("k#{me}=#{me};") } }
      scanner = StringScanner.new(+"")
      Array.new(5) do
        scanner << slow.new
        scanner.scan(/(?<key>\w+)=(?<value>\d+);/) && turn.call
        [scanner.named_captures, scanner[:key], scanner.pos]
      end
    end

    # Calls nothing; hashes without Ruby's lock.
    def bcrypt(me, turn)
      Array.new(3) do |n|
        turn.call && BCrypt::Password.create("word#{me}-#{n}", cost: 4).then do |hash|
          [hash == "word#{me}-#{n}", hash == "word#{me}-4", hash.cost]
        end
      end
    end

    # Its C calls nothing: what reads and writes is Ruby.
    def snappy(me, turn)
      out = StringIO.new
      Snappy::Writer.new(out) do |writer|
        4.times { |n| turn.call && writer << ("#{me}-#{n}" * 50) && writer.dump! }
      end
      [Snappy::Reader.new(StringIO.new(out.string)).read.sum,
       (Snappy.inflate("x#{me}") rescue $!.class.name)]
    end

    def ffi_sorted(me, turn)
      numbers = [4, 2, 3, 1].map { |number| number * (me + 1) }
      memory = FFI::MemoryPointer.new(:int, 4).write_array_of_int(numbers)
      library = FFI::DynamicLibrary.open(nil, FFI::DynamicLibrary::RTLD_LAZY)
      sort = FFI::Function.new(:void, %i[pointer size_t size_t pointer],
                               library.find_function("qsort"))
      compare = FFI::Function.new(:int, %i[pointer pointer]) do |one, other|
        turn.call(one.read_int <=> other.read_int)
      end
      sort.call(memory, 4, 4, compare)
      memory.read_array_of_int(4)
    end

    def zlib_reader(me, turn)
      text = Zlib.gzip(Random.new(me).bytes(600))
      [Zlib::GzipReader.new(Drops.new(text, turn, 200)).read.sum,
       (Zlib::GzipReader.new(Drops.new("x#{me}" * 100, turn, 200)).read rescue $!.class.name)]
    end

    def zlib_writer(me, turn)
      out = +""
      io = Object.new
      io.define_singleton_method(:write) { |text| turn.call && (out << text).size }
      writer = Zlib::GzipWriter.new(io)
      writer.mtime = 1
      5.times { |n| writer.write(Random.new(me + n).bytes(9_000)) && writer.flush }
      writer.finish
      Zlib.gunzip(out).sum
    end
  end
end

# rubocop:enable Style/RescueModifier
