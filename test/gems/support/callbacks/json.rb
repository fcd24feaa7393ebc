# frozen_string_literal: true

# rubocop:disable Style/RescueModifier -- what is raised is a part of the answer

class GemCallbacks
  # JSON and its like.
  module Json
    def oj(me, turn)
      handler = Class.new(Oj::ScHandler) do
        define_method(:hash_start) { {} }
        define_method(:hash_set) { |hash, key, value| turn.call && hash[key] = value }
        define_method(:array_start) { [] }
        define_method(:array_append) { |array, value| array << value }
        define_method(:add) { |value, _key| @all = value }
      end
      Oj.sc_parse(handler.new, Drops.new(json(me), turn, 30)).to_a
    end

    def oj_dump(me, turn)
      slow = Class.new { define_method(:to_hash) { turn.call({ "of" => me }) } }
      Oj.dump(Array.new(5) { slow.new }, mode: :custom, use_to_hash: true)
    end

    def oj_generate(me, turn)
      slow = Class.new { define_method(:to_json) { |*| turn.call("\"#{me}\"") } }
      Oj.dump({ "a" => Array.new(5) { slow.new }, "me" => me }, mode: :compat, use_to_json: true)
    end

    def yajl(me, turn)
      all = []
      parser = Yajl::Parser.new
      parser.on_parse_complete = ->(value) { turn.call && all << value }
      parser.parse(StringIO.new(Array.new(5) { |n| "{\"#{n}\":#{me}}" }.join("\n")))
      all << (Yajl::Parser.parse("[#{me},") rescue $!.message[/\A.*/])
    end

    def yajl_encode(me, turn)
      slow = Class.new { define_method(:to_json) { |*| turn.call("\"#{me}\"") } }
      Yajl::Encoder.encode({ "a" => Array.new(5) { slow.new }, "me" => me })
    end

    def json_dump(me, turn)
      slow = Class.new { define_method(:to_json) { |*| turn.call("\"#{me}\"") } }
      JSON.generate({ "a" => Array.new(5) { slow.new }, "me" => me })
    end

    def msgpack(me, turn)
      type = Struct.new(:number)
      factory = MessagePack::Factory.new
      factory.register_type(1, type, packer: ->(one) { turn.call([one.number].pack("N")) },
                            unpacker: ->(text) { turn.call(type.new(text.unpack1("N"))) })
      factory.load(factory.dump(Array.new(4) { |n| type.new((n * 100) + me) })).map(&:number)
    end

    def protobuf(me, turn)
      numbers = Google::Protobuf::RepeatedField.new(:int32, [me, 2, 3, 4])
      map = Google::Protobuf::Map.new(:string, :int32, { "a" => me, "b" => 2 })
      seen = []
      numbers.each { |number| turn.call && seen << number }
      map.each { |key, value| turn.call && seen << [key, value] }
      seen.sort_by(&:to_s) + [(numbers.push("x") rescue $!.class.name)]
    end

    private

    def json(me)
      "{\"a\":[1,#{me},{\"b\":2}],\"c\":{\"d\":#{me}},\"e\":\"#{"f" * me}\"#{"," if me.odd?}}"
    end
  end
end

# rubocop:enable Style/RescueModifier
