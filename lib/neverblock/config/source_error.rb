# frozen_string_literal: true

# Describes an exception of a user's Ruby file (config.ru, config/neverblock.rb) in one line: where
# in that file, what, and how to mend it.

module NeverBlock
  module SourceError
    module_function

    # @param error [Exception]
    # @param path [String] absolute path of the file
    # @return [String]
    def describe(error, path)
      return syntax_error(error, path) if error.is_a?(SyntaxError)

      message = first_line(message_of(error))
      # Ruby 3.4 names the place of a wrong magic comment itself.
      message = "#{place(error, path)}: #{message}" unless message.start_with?("#{path}:")
      "#{short(message)} (#{error.class})#{fix(error)}"
    end

    # The first line of the backtrace that is the user's own. A line in a gem is used only where
    # there is no other: it does not tell how to mend the file.
    # @return [String] file and line
    def place(error, path)
      lines = error.backtrace || []
      own = lines.find { |line| own?(line, path) }
      return file_and_line(own) if own

      return short(path) if lines.empty? || lines.first.start_with?(path)

      "#{short(path)}: in #{file_and_line(lines.first)}"
    end

    def own?(line, path)
      line.start_with?("#{File.dirname(path)}/") && !line.match?(%r{/(gems|vendor)/})
    end

    def file_and_line(line)
      short(line[/\A.+?(:\d+)?(?=:in |\z)/])
    end

    # @return [String] the path, relative to the working directory where it lies inside
    def short(path)
      path.delete_prefix("#{Dir.pwd}/")
    end

    # Up to Ruby 3.3 the message is "file:line: text", then the source. From 3.4 on the text follows
    # the carets under the source.
    def syntax_error(error, path)
      lines = error.message.lines.map(&:strip)
      where, text = lines.first.to_s.match(/\A(.+?:\d+): (.*)\z/)&.captures
      detail = lines.filter_map { |line| line[/\^~*\s+(\S.*)\z/, 1] }.first
      text = text&.sub(/\Asyntax errors? found\z/, "")&.sub(/\Asyntax error, /, "")
      text = [text, detail].compact.reject(&:empty?).join(": ")
      text = first_line(error.message) if text.empty?
      "#{short(where || path)}: syntax error: #{text}"
    end

    def fix(error)
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
      first = message.to_s.scrub("?").lines.map(&:strip).find { |line| !line.empty? }
      first || "no message"
    end

    private_class_method :own?, :file_and_line, :syntax_error, :fix, :message_of, :first_line
  end
end
