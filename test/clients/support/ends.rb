# frozen_string_literal: true

# Requests that are ended from outside while their answer is on its way: whoever asks next by the
# same client object, in the same fiber or another, must be given his own.

module Clients
  module Ends
    # Seconds until a limit ends what the service holds for ever.
    LIMIT_S = 0.2

    # What fails a branch of NB.all.
    class Failed < StandardError; end

    # How a fiber's work ends. Each is given what waits until the work is inside the service.
    WAYS = {
      cancelled: ->(inside, work) { NB.all(work, -> { inside.call || raise(Failed) }) },
      deadline: ->(_inside, work) { NB.deadline(LIMIT_S, &work) },
      timeout: ->(_inside, work) { Timeout.timeout(LIMIT_S, &work) }
    }.freeze

    # Calls the block, which asks for what the service holds, and has it ended in this way.
    # @param inside [#call] returns, with nil, when it is held
    def end_work(way, inside, &work)
      error = raises(StandardError) { WAYS.fetch(way).call(inside, work) }
      ends = NeverBlock::Causes.of(error).grep_v(Wrong).select do |one|
        [Failed, NB::DeadlineExceeded, Timeout::Error].any? { |kind| kind === one }
      end
      hold(ends.any?, "it ended by #{error.class}: #{error.message}")
    end

    # By a client object that `shared` gives. A page is held before its head is sent (gate), or in
    # the middle of its body (half).
    def share_ended(way)
      shared do |get|
        %w[gate half].each do |page|
          name = "ended-#{token}"
          own(get)
          end_work(way, -> { await_inside(name) }) { get.call(url("/#{page}/#{name}/2/#{token}")) }
          release(name)
          fibers(3) { 3.times { own(get) } }
          own(get)
        end
      end
      "by #{way}, before the head and in the body"
    end

    def own(get)
      mine = token
      same(mine, get.call(url("/echo/#{mine}")).first)
    end

    def await_inside(name)
      eventually("a request inside") { Net::HTTP.get(URI(url("/inside/#{name}"))) == "1" }
    end

    # What was held is answered.
    def release(name)
      Net::HTTP.get(URI(url("/gate/#{name}/2/x")))
      eventually("nobody inside") { Net::HTTP.get(URI(url("/inside/#{name}"))) == "0" }
    end
  end
end
