# frozen_string_literal: true

AdviceCases::NOT_REPEATED.add do
  case_of "a cursor", source: <<~'RUBY'
    def show
      rows = []
      cursor = "0"
      while cursor
        page = HTTP.get("/rows?after=#{cursor}")
        rows << page
        cursor = rows.size < 6 ? page.size.to_s : nil
      end
      rows
    end
  RUBY

  case_of "the next link", source: <<~'RUBY'
    def show
      http = Faraday.new
      link = "/page/1"
      pages = []
      loop do
        body = http.get(link).body
        pages << body
        link = body["next"]
        break if link.nil? || pages.size == 7
      end
      pages.size
    end
  RUBY

  case_of "pages until one is empty", source: <<~'RUBY'
    def show
      number = 0
      all = []
      loop do
        rows = Model.where(page: number += 1)
        break if rows.empty? || number == 8

        all.concat(rows)
      end
      all.size
    end
  RUBY

  case_of "retry", source: <<~'RUBY'
    def show
      attempts = 0
      begin
        attempts += 1
        answer = HTTP.get("/flaky")
        raise IOError, answer if attempts < 6

        answer
      rescue IOError
        retry
      end
    end
  RUBY

  case_of "attempts in times, with a return", source: <<~'RUBY'
    def show
      6.times do |attempt|
        answer = HTTP.get("/flaky?attempt=#{attempt}")
        return answer if answer.include?("=5")
      end
      nil
    end
  RUBY

  case_of "polling", source: <<~'RUBY'
    def show
      turns = 0
      until done?(turns)
        turns += 1
        Shell.sleep(0.5)
      end
      turns
    end

    def done?(turns)
      HTTP.get("/jobs/1")
      turns == 6
    end
  RUBY

  case_of "stop at the first hit: find", source: <<~'RUBY'
    def show
      %w[a b c d e f].find { |shard| HTTP.get("/#{shard}/user/1").end_with?("f/user/1") }
    end
  RUBY

  case_of "stop at the first hit: any?", source: <<~'RUBY'
    def show
      Model.all.any? { |team| HTTP.get("/member/#{team.id}") == "yes" }
    end
  RUBY

  case_of "as long as all hold", source: <<~'RUBY'
    def show
      %w[db cache queue mail search disk].all? do |part|
        HTTP.get("/health/#{part}").start_with?("answer")
      end
    end
  RUBY

  case_of "break", source: <<~'RUBY'
    def show
      found = nil
      %w[a b c d e f].each do |zone|
        answer = HTTP.get("/zones/#{zone}")
        next unless answer.end_with?("f")

        found = answer
        break
      end
      found
    end
  RUBY

  case_of "an accumulator is given to the next call", source: <<~'RUBY'
    def show
      (1..6).inject("start") do |state, step|
        HTTP.get("/reduce?state=#{state.size}&step=#{step}")
      end
    end
  RUBY

  case_of "an instance variable goes from turn to turn", source: <<~'RUBY'
    def show
      @head = "0"
      6.times { advance }
      @head
    end

    def advance
      @head = HTTP.get("/chain/#{@head.size}")
    end
  RUBY

  case_of "three turns", source: <<~'RUBY'
    def show
      %w[a b c].map { |name| HTTP.get("/#{name}") }
    end
  RUBY

  case_of "four turns", source: <<~'RUBY'
    def show
      Model.where(kind: "x").first(4).map { |row| row.owner.name }
    end
  RUBY

  case_of "up the tree", source: <<~'RUBY'
    def show
      node = Model.new(1)
      path = []
      6.times do
        path << node.name
        node = node.owner
      end
      path.reverse
    end
  RUBY

  case_of "up the tree by recursion", source: <<~'RUBY'
    def show
      root_of(Model.new(1), 6).name
    end

    def root_of(node, levels)
      levels.zero? ? node : root_of(node.owner, levels - 1)
    end
  RUBY

  case_of "a pause between turns", source: <<~'RUBY'
    def show
      %w[a b c d e].map do |place|
        answer = HTTP.get("/geocode/#{place}")
        Shell.sleep(1.0)
        answer
      end
    end
  RUBY

  case_of "backing off", source: <<~'RUBY'
    def show
      pause = 0.1
      6.times do
        break if HTTP.get("/ready") == "yes"

        Shell.sleep(pause)
        pause *= 2
      end
    end
  RUBY

  case_of "halves until found", source: <<~'RUBY'
    def show
      low = 0
      high = 1000
      while high - low > 10
        middle = (low + high) / 2
        HTTP.get("/log/#{middle}").size.odd? ? low = middle : high = middle
      end
      low
    end
  RUBY

  case_of "a budget is used up", source: <<~'RUBY'
    def show
      left = 200
      picked = []
      %w[a b c d e f].each do |sku|
        left -= HTTP.get("/price/#{sku}").size
        break if left.negative?

        picked << sku
      end
      picked
    end
  RUBY

  case_of "a lazy first", source: <<~'RUBY'
    def show
      (1..100).lazy.map { |id| HTTP.get("/try/#{id}") }.find { |text| text.end_with?("/6") }
    end
  RUBY

  case_of "jobs are taken until none is left", source: <<~'RUBY'
    def show
      redis = Redis.new
      5.times { |at| @jobs = [*@jobs, at] }
      done = []
      while (job = redis.lpop("jobs") || @jobs.shift)
        done << job
      end
      done
    end
  RUBY

  case_of "take_while", source: <<~'RUBY'
    def show
      (1..6).take_while { |day| HTTP.get("/open/#{day}").size > 3 }
    end
  RUBY

  case_of "the token changes with each answer", source: <<~'RUBY'
    class Feed
      def initialize = @token = "first"

      def read
        body = Faraday.new.get("/feed?token=#{@token}").body
        @token = body["token"]
        body["id"]
      end
    end

    def show
      feed = Feed.new
      Array.new(6) { feed.read }
    end
  RUBY

  case_of "transfers in order", source: <<~'RUBY'
    def show
      [5, -3, 8, -1, 2].each do |amount|
        account = Model.new(1).lock!
        account.update!(balance: account.id + amount)
      end
    end
  RUBY

  case_of "the first that raises ends it", source: <<~'RUBY'
    def show
      %w[read write admin bill ship].each do |right|
        raise SecurityError, right unless HTTP.get("/may/#{right}").start_with?("answer")
      end
      "granted"
    end
  RUBY

  case_of "lines of one socket", source: <<~'RUBY'
    def show
      socket = Socket.new
      lines = []
      lines << socket.gets while lines.size < 6
      lines
    end
  RUBY

  case_of "redo after a bad answer", source: <<~'RUBY'
    def show
      tries = 0
      [1].each do |id|
        tries += 1
        HTTP.get("/unstable/#{id}")
        redo if tries < 6
      end
    end
  RUBY

  case_of "the last of the list is asked about next", source: <<~'RUBY'
    def show
      chain = ["/start"]
      6.times { chain << HTTP.get(chain.last) }
      chain.last
    end
  RUBY

  case_of "a graph is walked", source: <<~'RUBY'
    def show
      seen = {}
      waiting = [1]
      until waiting.empty?
        id = waiting.shift
        next if seen[id]

        seen[id] = HTTP.get("/nodes/#{id}")
        waiting.push(seen[id].size % 7, id + 1) if seen.size < 6
      end
      seen.size
    end
  RUBY

  case_of "catch and throw", source: <<~'RUBY'
    def show
      catch(:found) do
        %w[a b c d e f].each do |name|
          answer = HTTP.get("/look/#{name}")
          throw :found, answer if answer.end_with?("f")
        end
      end
    end
  RUBY

  case_of "a chain of fallbacks", source: <<~'RUBY'
    SOURCES = %w[a b c d e f].freeze

    def show
      SOURCES.reduce(nil) { |answer, name| answer || try(name) }
    end

    def try(name)
      answer = HTTP.get("/mirror/#{name}")
      answer if answer.end_with?("f")
    end
  RUBY

  case_of "found is remembered outside", source: <<~'RUBY'
    def show
      @found = nil
      %w[a b c d e f].each { |name| look(name) }
      @found
    end

    def look(name)
      return if @found

      answer = HTTP.get("/look/#{name}")
      @found = answer if answer.end_with?("f")
    end
  RUBY

  case_of "or-assignment from turn to turn", source: <<~'RUBY'
    def show
      hit = nil
      %w[a b c d e f].each do |mirror|
        hit ||= try(mirror)
      end
      hit
    end

    def try(mirror)
      answer = HTTP.get("/#{mirror}")
      answer if answer.end_with?("f")
    end
  RUBY

  case_of "until enough are found", source: <<~'RUBY'
    def show
      hits = []
      names = %w[a b c d e f g h]
      while hits.size < 3 && (name = names.shift)
        answer = HTTP.get("/check/#{name}")
        hits << name if answer.end_with?("d", "e", "f")
      end
      hits
    end
  RUBY

  case_of "first of a lazy select", source: <<~'RUBY'
    def show
      Model.all.lazy.select { |row| HTTP.get("/ok/#{row.id}").end_with?("4", "5") }.first(2).size
    end
  RUBY

  case_of "none?", source: <<~'RUBY'
    def show
      %w[a b c d e f].none? { |name| HTTP.get("/banned/#{name}") == "yes" }
    end
  RUBY

  case_of "index of the first", source: <<~'RUBY'
    def show
      %w[a b c d e f].index { |name| HTTP.get("/at/#{name}").end_with?("f") }
    end
  RUBY

  case_of "a generator", source: <<~'RUBY'
    def show
      pages = Enumerator.produce("/p/0") { |link| HTTP.get(link).sub("answer to ", "") + "0" }
      pages.take(7).last
    end
  RUBY

  case_of "a return out of a nested loop", source: <<~'RUBY'
    def show
      %w[de fr].each do |country|
        %w[s m l].each do |size|
          answer = HTTP.get("/stock/#{country}/#{size}")
          return answer if answer.end_with?("fr/l")
        end
      end
    end
  RUBY

  case_of "a helper ends the loop by throw", source: <<~'RUBY'
    def show
      catch(:done) { (1..6).each { |id| visit(id) } }
    end

    def visit(id)
      answer = HTTP.get("/visit/#{id}")
      throw :done, answer if id == 6
    end
  RUBY

  case_of "what was seen so far is sent along", source: <<~'RUBY'
    def show
      seen = []
      6.times do
        seen << HTTP.get("/recommend?not=#{seen.size}")
      end
      seen
    end
  RUBY

  case_of "a version is passed by an object", source: <<~'RUBY'
    Document = Struct.new(:version) do
      def apply(change)
        self.version = HTTP.put("/doc?base=#{version}&change=#{change}").size
      end
    end

    def show
      document = Document.new(0)
      %w[a b c d e].each { |change| document.apply(change) }
      document.version
    end
  RUBY

  case_of "each_cons of one's own answers", source: <<~'RUBY'
    def show
      answers = { 0 => "start" }
      (1..6).each do |step|
        answers[step] = HTTP.get("/step/#{step}?last=#{answers[step - 1].size}")
      end
      answers[6]
    end
  RUBY

  case_of "stop when over the limit", source: <<~'RUBY'
    def show
      total = 0
      %w[a b c d e f].each do |sku|
        break if total > 1000

        total += HTTP.get("/weight/#{sku}").size
      end
      total
    end
  RUBY

  case_of "five lines, no loop", source: <<~'RUBY'
    def show
      HTTP.put("/a")
      HTTP.put("/b")
      HTTP.put("/c")
      HTTP.put("/d")
      HTTP.put("/e")
    end
  RUBY

  case_of "waits for a lock", source: <<~'RUBY'
    def show
      redis = Redis.new
      6.times do |turn|
        break if redis.set("lock", turn, nx: true) == 5
      end
    end
  RUBY

  case_of "a large body comes in pieces", source: <<~'RUBY'
    def show
      Web.get("/export", pieces: 9).size
    end
  RUBY

  case_of "a large body comes in pieces, three times", source: <<~'RUBY'
    def show
      %w[a b c].map { |name| Web.get("/#{name}", pieces: 4) }
    end
  RUBY

  case_of "events to a client", source: <<~'RUBY'
    def show
      stream = Waiting.new
      6.times { |number| stream.write("data: #{number}\n\n") }
    end
  RUBY

  case_of "results of a queue", source: <<~'RUBY'
    def show
      answers = Waiting.new
      Array.new(6) { answers.pop }
    end
  RUBY

  case_of "threads are joined", source: <<~'RUBY'
    def show
      workers = Array.new(6) { Waiting.new }
      workers.each(&:join)
      workers.size
    end
  RUBY

  case_of "the sum is sent along", source: <<~'RUBY'
    def show
      @sum = 0
      (1..6).each { |id| @sum += HTTP.get("/add/#{id}?to=#{@sum}").size }
      @sum
    end
  RUBY

  case_of "a throttle in a helper", source: <<~'RUBY'
    def show
      %w[a b c d e f].map do |name|
        throttle
        HTTP.get("/limited/#{name}")
      end
    end

    def throttle
      Shell.sleep(0.5)
    end
  RUBY

  case_of "StopIteration", source: <<~'RUBY'
    def show
      names = %w[a b c d e f g].each
      loop do
        answer = HTTP.get("/until/#{names.next}")
        raise StopIteration if answer.end_with?("f")
      end
    end
  RUBY

  case_of "the condition asks", source: <<~'RUBY'
    def show
      page = 0
      until (rows = rows_of(page)).empty?
        page += rows.size
      end
      page
    end

    def rows_of(page)
      HTTP.get("/rows?from=#{page}").chars.first([7 - page, 1].min.clamp(0, 1))
    end
  RUBY

  case_of "turns at a mutex", source: <<~'RUBY'
    def show
      gate = Waiting.new
      count = 0
      6.times { gate.synchronize { count += 1 } }
      count
    end
  RUBY

  case_of "naps", source: <<~'RUBY'
    def show
      6.times { Shell.sleep(0.2) }
      "rested"
    end
  RUBY

  case_of "the client's body in chunks", source: <<~'RUBY'
    def show
      body = Waiting.new
      6.times.map { body.read(1024) }.size
    end
  RUBY
end
