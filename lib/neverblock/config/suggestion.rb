# frozen_string_literal: true

# "Did you mean": the nearest of the known words, if one is near.

module NeverBlock
  module Suggestion
    module_function

    # @param word [String]
    # @param known [Array<String>]
    # @return [String] "; did you mean WORD?", or nothing
    def for(word, known)
      near = nearest(word, known)
      near ? "; did you mean #{near}?" : ""
    end

    # @return [String, nil]
    def nearest(word, known)
      prefixed = known.select { |other| other.start_with?(word) && word.length > 2 }
      return prefixed.first if prefixed.size == 1

      spell_checker(known)&.correct(word)&.first
    end

    # Ruby can be started without did_you_mean (--disable-did_you_mean).
    def spell_checker(known)
      require "did_you_mean"
      DidYouMean::SpellChecker.new(dictionary: known)
    rescue LoadError
      nil
    end
    private_class_method :spell_checker
  end
end
