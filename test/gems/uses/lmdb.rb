# frozen_string_literal: true

Gems.use "lmdb" do
  requires "lmdb", "tmpdir"
  # One writer at a time: the gem refuses a second one (LMDB::Error), on threads too.
  setup do
    WRITING = Mutex.new
    ENVIRONMENT = LMDB.new(Dir.mktmpdir("neverblock-lmdb").tap { |made|
      at_exit { FileUtils.rm_rf(made) }
    }, mapsize: 1 << 26, nosync: true)
    ROWS = ENVIRONMENT.database("rows", create: true)
    UNDO = Class.new(StandardError)
  end
  answer do |id|
    write = ->(&block) { WRITING.synchronize { ENVIRONMENT.transaction(&block) } }
    write.call { ROWS[id] = "half" and Hunt.nap and ROWS[id] = id }
    begin
      write.call { ROWS["#{id}-no"] = id and Hunt.nap and raise UNDO }
    rescue UNDO
      nil
    end
    [ENVIRONMENT.transaction(true) { [ROWS[id], Hunt.nap, ROWS[id], ROWS["#{id}-no"]] },
     write.call { break ROWS[id] }, ROWS.has?(id), ROWS.get("#{id}-no")]
  end
  note "requests of one executor take turns at an environment, each until the block of its " \
       "transaction is over"
end
