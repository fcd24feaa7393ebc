# frozen_string_literal: true

require_relative "../patience"
require_relative "crowd"
require_relative "databases"
require_relative "server"
require_relative "service"

# The same programs and the same requests on Puma with threads and on ours. A program has #name,
# #questions (Questions#at), #database? and what `site` makes of it.
module OnThreads
  # What stands before each program.
  PRELUDE = File.read(File.join(__dir__, "prelude.rb"))

  # What one server did with one program otherwise than threads do.
  Difference = Struct.new(:program, :mode, :what, :wanted, :seen, keyword_init: true) do
    def to_s = "#{mode}: #{what}\n  wanted #{wanted}\n  seen   #{seen}"
  end

  # What a run on one server gave.
  Found = Struct.new(:answers, :before, :after, :trouble, :errors, keyword_init: true)

  # The same programs and questions on Puma, and on ours. What differs is asked of Puma once more,
  # with as many hogs as ours had.
  class Comparison
    ROUNDS = 8
    # Growth that is no leak: what idle threads and fibers keep. What is lost at each request is
    # ROUNDS times as much as there are clients.
    GROWTH_MOST = 24
    SETTLE_S = 4
    # For all requests of one program. What takes longer on threads is left out. With hogs there is
    # much to compute beside it.
    THREADS_S = 20
    OURS_S = 120
    OF_FILES = %w[accept-ranges etag last-modified].freeze
    # An error of the log, with the first lines of its backtrace.
    ERROR = /^.* error: .*$(?:\n\s.*$){0,12}/.freeze

    # @param site [#call] from programs to the text of a rackup file
    # @param bundle [#env] with the gems of both servers
    def initialize(site:, bundle:, clients:, service: Service.new, rounds: ROUNDS)
      @site = site
      @bundle = bundle
      @clients = clients
      @service = service
      @rounds = rounds
    end

    # @param modes [Array<Symbol>] keys of Server::OURS
    # @return [Array(Array<Difference>, Array<Difference>)] the second of programs whose answers
    #   differ on threads already
    def of(programs, modes)
      wanted = run(:puma, programs)
      answered, silent = programs.partition { |program| complete?(wanted[program.name]) }
      found = answered.empty? ? [] : modes.flat_map { |mode| differences(mode, answered, wanted) }
      differ = found.map(&:program).uniq
      again = differ.empty? ? {} : run(:puma, differ, hogs: hogs_of(found))
      moved = differ.filter_map do |program|
        answers(program, :puma, wanted[program.name], again[program.name])
      end
      kept = found.reject do |difference|
        moved.any? { |other| other.program.equal?(difference.program) }
      end
      [kept, silent.map { |program| silence(program, wanted[program.name]) } + moved]
    end

    private

    # @return [Integer] as many hogs as there were where something differs: it may be their doing
    def hogs_of(differences)
      differences.map { |difference| Server::HOGS.fetch(difference.mode, 0) }.max
    end

    # A program that fails on threads shows nothing.
    def complete?(found)
      found && found.answers.size == questions &&
        found.answers.each_value.none? { |answer| failed?(answer) }
    end

    def failed?(answer) = answer.is_a?(String) || answer[0] >= 500

    def silence(program, found)
      seen = found &&
             (found.trouble || found.answers.values.find { |answer| failed?(answer) }.inspect)
      Difference.new(program: program, mode: :puma, what: "the server", wanted: "answers",
                     seen: seen)
    end

    def questions = @clients * @rounds

    def differences(mode, programs, wanted)
      run(mode, programs).flat_map do |name, found|
        program = programs.find { |one| one.name == name }
        unless program
          next [Difference.new(program: programs.last, mode: mode, what: "the server",
                               wanted: "ends", seen: found.trouble)]
        end

        difference = answers(program, mode, wanted[name], found) ||
                     left(program, mode, wanted[name], found)
        [difference].compact
      end
    end

    def answers(program, mode, wanted, found)
      if found.trouble
        return Difference.new(program: program, mode: mode, what: "the server", wanted: "answers",
                              seen: found.trouble)
      end

      wrong = wanted.answers.reject { |number, answer| same?(answer, found.answers[number]) }
      return if wrong.empty?

      number, answer = wrong.find { |at, _| found.answers[at] } || wrong.first
      Difference.new(
        program: program, mode: mode,
        what: "#{wrong.size} of #{wanted.answers.size} answers, such as number #{number}",
        wanted: brief(answer, found.answers[number]),
        seen: [brief(found.answers[number], answer), *found.errors].join("\n  ")
      )
    end

    # What ours says of a file more than Puma does, is no difference.
    def same?(wanted, seen)
      return false unless seen.is_a?(Array)

      more = seen[1].map(&:first) - wanted[1].map(&:first)
      headers = seen[1]
      headers = headers.reject { |name, _| more.include?(name) } if (more - OF_FILES).empty?
      [wanted[0], wanted[1], wanted[2]] == [seen[0], headers, seen[2]]
    end

    # Of two long answers, what is not the same.
    def brief(answer, other)
      return answer.inspect unless answer.is_a?(Array) && other.is_a?(Array)

      [answer[0], answer[1] - other[1], lines(answer[2], other[2])].inspect[0, 600]
    end

    def lines(body, other)
      others = other.lines
      differing = body.lines.each_with_index.reject { |line, at| line == others[at] }
      differing.first(5).map { |line, at| "line #{at}: #{line.chomp[0, 120]}" }
    end

    # Of several workers any one may answer what is left.
    def left(program, mode, wanted, found)
      return if mode == :workers

      grown = found.after.keys.filter_map do |what|
        more = found.after[what] - found.before.fetch(what, 0)
        on_threads = growth(wanted, what)
        if more > (2 * [on_threads, 0].max) + most(what)
          "#{what} #{more}, with threads #{on_threads}"
        end
      end
      return if grown.empty?

      Difference.new(program: program, mode: mode, what: "left over after #{questions} requests",
                     wanted: "no more than with threads", seen: grown.join("; "))
    end

    # Threads and fibers are kept for the next requests: as many as there were at once, and spares.
    def most(what) = %w[threads fibers].include?(what) ? GROWTH_MOST + (2 * @clients) : GROWTH_MOST
    def growth(found, what) = found.after.fetch(what, 0) - found.before.fetch(what, 0)

    # @param hogs [Integer, nil] nil: those of the kind
    # @return [Hash{String => Found}]
    def run(kind, programs, hogs: nil)
      found = {}
      left = programs.dup
      found.merge!(run_some(kind, left, programs, hogs)) until left.empty?
      found
    end

    # With a server of its own, until it is gone.
    def run_some(kind, left, programs, hogs)
      found = {}
      server = start(kind, programs, hogs || Server::HOGS.fetch(kind, 0))
      limit_s = kind == :puma && server.hogs.zero? ? THREADS_S : OURS_S
      while (program = left.shift)
        found[program.name] = one(server, program, limit_s)
        break if found[program.name].trouble
      end
      stop(kind, server, found)
      found
    ensure
      server&.kill
    end

    def start(kind, programs, hogs)
      database = Databases.url if programs.any?(&:database?)
      env = @bundle.env.merge("NB_HUNT_SERVICE" => @service.port.to_s,
                              "NB_HUNT_DATABASE" => database, "RACK_ENV" => "production")
      Server.new(kind, @site.call(programs), clients: @clients, env: env, hogs: hogs).start
    end

    def one(server, program, limit_s)
      crowd = Crowd.new(server, clients: @clients)
      found = Found.new(before: crowd.left)
      logged = server.stderr.size
      found.answers = crowd.ask(program, questions, limit_s)
      found.errors = server.stderr[logged..].scan(ERROR).last(3)
      hung = found.answers.each_value.any? do |answer|
        answer.is_a?(String) && answer.include?("Timeout")
      end
      found.trouble = "did not answer: #{server.stderr.lines.last(15).join}" if hung
      found.trouble ||= "has ended: #{server.stderr.lines.last(15).join}" unless server.running?
      found.after = found.trouble ? found.before : settled(crowd, found.before)
      found
    rescue SystemCallError, IOError, Timeout::Error => e
      status = server.running? ? "" : server.status.inspect
      Found.new(answers: {}, before: {}, after: {},
                trouble: "#{e.class} #{status} #{server.stderr.lines.last(15).join}")
    end

    # What is left, once it grows no less.
    def settled(crowd, before)
      limit = Patience::Limit.new(SETTLE_S)
      loop do
        after = crowd.left
        return after if limit.over?
        return after if after.all? { |what, number| number - before.fetch(what, 0) <= most(what) }

        sleep(0.2)
      end
    end

    def stop(kind, server, found)
      return if kind == :puma || found.each_value.any?(&:trouble)

      server.stop
    rescue ServerProcess::Failed => e
      found["stop"] = Found.new(trouble: "does not stop: #{e.message.lines.last(15).join}")
    end
  end
end
