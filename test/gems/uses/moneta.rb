# frozen_string_literal: true

Gems.use "moneta" do
  requires "moneta"
  setup do
    STORES = [Moneta.new(:File, dir: Dir.mktmpdir, expires: true),
              Moneta.new(:PStore, file: File.join(Dir.mktmpdir, "store"), threadsafe: true),
              Moneta.new(:Memory, threadsafe: true)].freeze
  end
  answer do |id|
    STORES.map do |store|
      store[id] = "value of #{id} " * 500
      [store[id], store.fetch("none", 7), store.increment("times #{id}"), store.delete(id).size]
    end
  end
end
