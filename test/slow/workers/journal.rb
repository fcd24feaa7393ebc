# frozen_string_literal: true

# The journal says which worker has begun and ended which request, without the server's help. Each
# mark is one line, appended whole to the file that NB_JOURNAL names. With O_APPEND, write(2) sets
# the offset and writes in one step, so the marks of a killed worker stay.
# The death of a worker may cost what it has begun and not ended.

module Journal
  class Writer
    # @param path [String]
    def initialize(path = ENV.fetch("NB_JOURNAL"))
      @file = File.open(path, File::WRONLY | File::APPEND | File::CREAT)
    end

    # @param mark [String] "B" for begin, "E" for end
    # @param id [String]
    def put(mark, id)
      @file.syswrite("#{mark} #{Process.pid} #{id}\n")
    end
  end

  # What the journal says so far.
  class Reader
    # @param path [String]
    def initialize(path)
      @path = path
      @marks = []
      @read = 0
    end

    # @return [Array<Integer>] process ids that have begun a request
    def workers
      marks.filter_map { |mark, pid, _| pid if mark == "B" }.uniq
    end

    # @param pids [Array<Integer>]
    # @return [Array<String>] ids of requests that these have begun and not ended
    def open_on(pids)
      ours = marks.select { |_, pid, _| pids.include?(pid) }
      ended = ours.filter_map { |mark, _, id| id if mark == "E" }
      ours.filter_map { |mark, _, id| id if mark == "B" } - ended
    end

    # @return [Array<String>] ids that were begun more than once
    def begun_twice
      marks.filter_map { |mark, _, id| id if mark == "B" }.tally.select { |_, count| count > 1 }
           .keys
    end

    # @return [Array<String>] ids in the order in which they were begun
    def begun
      marks.filter_map { |mark, _, id| id if mark == "B" }
    end

    # @return [Hash{Integer => Integer}] how many requests each worker has begun
    def shares
      marks.filter_map { |mark, pid, _| pid if mark == "B" }.tally
    end

    private

    # Reads on from where it stopped; the last line may still be on its way.
    def marks
      text = File.exist?(@path) ? File.binread(@path, nil, @read).to_s : ""
      whole = text[0, (text.rindex("\n") || -1) + 1]
      @read += whole.bytesize
      @marks.concat(
        whole.lines.map { |line| line.split.then { |mark, pid, id| [mark, pid.to_i, id] } }
      )
    end
  end
end
