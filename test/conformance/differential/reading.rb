# frozen_string_literal: true

module Differential
  # What one parser made of one input: the requests that it read as complete, in order, and how it
  # ended.
  #
  # messages: [method, target, [[name in lower case, value], ...], body], binary strings; only the
  # first 64 bytes of the body.
  # ending: :done, :refused or :incomplete. detail: the parser's own reason for refusing.
  Reading = Struct.new(:messages, :ending, :detail, keyword_init: true) do
    # Ours, as the table names it.
    def summary
      describe(messages, ending, detail)
    end

    # Compares another parser's reading with ours. "same", or what it did up to the first request
    # that it read and we did not. Its reason for refusing matters where we do not refuse.
    def beside(ours)
      beyond = messages.size > ours.messages.size
      kept = messages.first(ours.messages.size + 1)
      text = describe(kept, beyond ? :done : ending, (detail if ours.ending != :refused))
      unless kept.zip(ours.messages).all? { |theirs, mine| mine.nil? || theirs == mine }
        text += ", read otherwise"
      end
      same = kept == ours.messages && ending == ours.ending
      same ? "same" : text
    end

    private

    def describe(messages, ending, detail)
      parts = []
      parts << "accepts #{messages.size}" if messages.any? || ending == :done
      parts << ending.to_s unless ending == :done
      text = parts.join(", then ")
      ending == :refused && detail ? "#{text}, #{detail}" : text
    end
  end
end
