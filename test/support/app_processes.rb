# frozen_string_literal: true

# What the processes that run an application under test have in common, so that its gates, counts
# and records work across them: words that all of them hear, counts and lists they make together. A
# server that is one process keeps all of it in memory. With workers (ServerProcess tells the
# application by NB_TEST_WORKERS) it lies in files beside the one that NB_TEST_EVENTS names.

require "json"

module AppProcesses
  POLL_S = 0.003

  @lock = Mutex.new
  @counts = Hash.new(0)
  @kept = []

  class << self
    # What to do with each word; to be called while the application is loaded.
    def hear(&block)
      @hearer = block
    end

    # Makes sure that this process hears what was and will be said. To be called before a request
    # waits for a word.
    def attend
      @lock.synchronize { @listener ||= Thread.new { follow } } if several?
    end

    # Once in each process that attends.
    # @param word [String] a line
    def say(word)
      return @hearer.call(word) unless several?

      with_file("said") { |file| file.syswrite("#{word}\n") }
    end

    # @return [Integer] how many have entered by now, this one with them
    def enter(name)
      return @lock.synchronize { @counts[name] += 1 } unless several?

      with_file("#{name}.entered") { |file| file.syswrite(".") && file.size }
    end

    # @return [Integer]
    def entered(name)
      several? ? with_file("#{name}.entered", &:size) : @counts[name]
    end

    # @param record [Hash] of what JSON can say
    def keep(record)
      return @lock.synchronize { @kept << record } unless several?

      with_file("kept") { |file| file.syswrite("#{JSON.generate(record)}\n") }
    end

    # @return [Array] all that was kept since the last time
    def take_kept
      return @lock.synchronize { @kept.slice!(0..) } unless several?

      with_file("kept") do |file|
        file.readlines.map { |line| JSON.parse(line) }.tap { file.truncate(0) }
      end
    end

    private

    def several?
      ENV.key?("NB_TEST_WORKERS")
    end

    # Held against the other processes meanwhile.
    def with_file(name)
      path = "#{ENV.fetch("NB_TEST_EVENTS")}.#{name}"
      File.open(path, File::RDWR | File::APPEND | File::CREAT) do |file|
        file.flock(File::LOCK_EX)
        yield file
      end
    end

    def follow
      said = File.open("#{ENV.fetch("NB_TEST_EVENTS")}.said", File::RDONLY | File::CREAT)
      rest = +""
      loop do
        rest << said.read
        while (line = rest.slice!(/\A.*\n/))
          @hearer.call(line.chomp)
        end
        sleep POLL_S
      end
    end
  end
end
