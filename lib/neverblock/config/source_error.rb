# frozen_string_literal: true

# What an exception of a user's Ruby file (config.ru, config/neverblock.rb) is in one line: where in that file, what, and the mend.

module NeverBlock
  module SourceError
    module_function

    # @param error [Exception]
    # @param path [String] absolute path of the file
    # @return [String]
    def describe(error, path)
      return syntax_error(error, path) if error.is_a?(SyntaxError)

      message = first_line(message_of(error))
      # Ruby 3.4 says itself where a magic comment is wrong.
      message = "#{place(error, path)}: #{message}" unless message.start_with?("#{path}:")
      "#{short(message)} (#{error.class})#{mend(error)}"
    end

    # The first line of the trace that is the user's own; a line in a gem helps nobody mend a file, and is named only where there is none.
    # @return [String] file and line
    def place(error, path)
      lines = error.backtrace || []
      own = lines.find { |line| line.start_with?("#{File.dirname(path)}/") && !line.match?(%r{/(gems|vendor)/}) }
      return file_and_line(own) if own

      lines.empty? || lines.first.start_with?(path) ? short(path) : "#{short(path)}: in #{file_and_line(lines.first)}"
    end

    def file_and_line(line)
      short(line[/\A.+?(:\d+)?(?=:in |\z)/])
    end

    # @return [String] the path as seen from here
    def short(path)
      path.delete_prefix("#{Dir.pwd}/")
    end

    # Up to Ruby 3.3 the message is "file:line: text", then the source; from 3.4 on the text stands behind the carets under the source.
    def syntax_error(error, path)
      lines = error.message.lines.map(&:strip)
      where, text = lines.first.to_s.match(/\A(.+?:\d+): (.*)\z/)&.captures
      detail = lines.filter_map { |line| line[/\^~*\s+(\S.*)\z/, 1] }.first
      text = [text&.sub(/\Asyntax errors? found\z/, "")&.sub(/\Asyntax error, /, ""), detail].compact.reject(&:empty?).join(": ")
      "#{short(where || path)}: syntax error: #{text.empty? ? first_line(error.message) : text}"
    end

    def mend(error)
      return "" unless error.is_a?(LoadError)

      "; if a gem is missing: add it to the Gemfile and start with `bundle exec neverblock`"
    end

    # An exception's own #message may raise.
    def message_of(error)
      error.message
    rescue StandardError => e
      "its message raised #{e.class}"
    end

    def first_line(message)
      message.to_s.scrub("?").lines.map(&:strip).find { |line| !line.empty? } || "no message"
    end

    private_class_method :file_and_line, :syntax_error, :mend, :message_of, :first_line
  end
end
