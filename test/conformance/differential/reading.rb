# frozen_string_literal: true

module Differential
  # What one parser made of one input: the requests it took for whole, in order, and how it ended.
  #
  # messages: [method, target, [[name in lower case, value], ...], body], binary strings; of the body the first 64 bytes.
  # ending: :done, :refused or :incomplete. detail: why it refused, in its own words.
  Reading = Struct.new(:messages, :ending, :detail, keyword_init: true) do
    # Ours, as the table names it.
    def summary
      describe(messages, ending, detail)
    end

    # Another parser's beside ours: "same", or what it did up to the first request it took where we did not. Its reason for refusing matters
    # where we do not refuse.
    def beside(ours)
      beyond = messages.size > ours.messages.size
      kept = messages.first(ours.messages.size + 1)
      text = describe(kept, beyond ? :done : ending, (detail if ours.ending != :refused))
      text += ", read otherwise" unless kept.zip(ours.messages).all? { |theirs, mine| mine.nil? || theirs == mine }
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
