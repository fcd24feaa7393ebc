# frozen_string_literal: true

Gems.use "concurrent-ruby" do
  requires "concurrent"
  setup { CACHE = Concurrent::Map.new && LOCAL = Concurrent::ThreadLocalVar.new("none") }
  answer do |id|
    LOCAL.bind(id) do
      [Concurrent::Promises.future { Hunt.nap && id }.then { |text| text * 2 }.value!,
       Concurrent::Promises.zip(*Array.new(3) { |n| Concurrent::Promises.future { n } }).value!,
       LOCAL.value]
    end
  end
end
