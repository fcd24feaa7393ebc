# frozen_string_literal: true

Gems.use "oj" do
  requires "oj"
  answer do |id|
    handler = Class.new(Oj::ScHandler) do
      define_method(:hash_start) { {} } &&
        define_method(:hash_set) { |hash, key, value| Hunt.nap && hash[key] = value }
    end
    [Oj.load(Oj.dump({ "id" => id, "list" => [1, 2.5, nil] }, mode: :compat)),
     Oj.sc_parse(handler.new, "{\"a\":\"#{id}\"}").inspect]
  end
end
