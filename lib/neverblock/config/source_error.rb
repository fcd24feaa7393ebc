# frozen_string_literal: true

# Describes an exception of a user's Ruby file (config.ru, config/neverblock.rb) in one line: where
# in that file, what, and how to mend it.

require "neverblock/log/characters"

module NeverBlock
  module SourceError
    module_function

    # @param error [Exception]
    # @param path [String] absolute path of the file
    # @return [String] valid UTF-8
    def describe(error, path)
      path = utf8(path)
      return syntax_error(error, path) if error.is_a?(SyntaxError)

      message = without_receiver(summary(error))
      # Ruby 3.4 names the place of a wrong magic comment itself.
      message = "#{place(error, path)}: #{message}" unless message.start_with?("#{path}:")
      "#{short(message)} (#{error.class})#{fix(error)}"
    end

    # @param error [Exception] any, also one whose own #message raises
    # @return [String] the first line of its message, valid UTF-8
    def summary(error)
      first_line(message_of(error))
    end

    # @param error [SystemCallError]
    # @return [String] what the system says, without Ruby's function and the path
    def reason(error)
      summary(error)[/\A[^@]+/].strip
    end

    # The first line of the backtrace that is the user's own. A line in a gem is used only where
    # there is no other: it does not tell how to mend the file.
    # @return [String] file and line
    def place(error, path)
      lines = (error.backtrace || []).map { |line| utf8(line) }
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

    # @return [String] the path, relative to the working directory where it lies inside; valid UTF-8
    def short(path)
      utf8(path).delete_prefix("#{utf8(Dir.pwd)}/")
    end

    # Up to Ruby 3.3 the message is "file:line: text", then the source. From 3.4 on the text follows
    # the carets under the source.
    def syntax_error(error, path)
      message = message_of(error)
      lines = utf8(message).lines.map(&:strip)
      where, text = lines.first.to_s.match(/\A(.+?:\d+): (.*)\z/)&.captures
      detail = lines.filter_map { |line| line[/\^~*\s+(\S.*)\z/, 1] }.first
      text = text&.sub(/\Asyntax errors? found\z/, "")&.sub(/\Asyntax error, /, "")
      text = [text, detail].compact.reject(&:empty?).join(": ")
      text = first_line(message) if text.empty?
      "#{short(where || path)}: syntax error: #{text}"
    end

    # The inspection of an object says nothing of how to mend a file.
    def without_receiver(message)
      message.sub(/\A(undefined .*method \S+ for )#<((?:::)?\w+(?:::\w+)*)\b.*\z/) do
        "#{Regexp.last_match(1)}an instance of #{Regexp.last_match(2)}"
      end
    end

    def fix(error)
      case error
      when NameError then near(error)
      when LoadError then fix_of_load(error)
      when KeyError then fix_of_variable(error)
      else ""
      end
    end

    def fix_of_load(error)
      return "; there is no such file: see its name and place" if error.path&.start_with?("/", ".")

      "; if a gem is missing: add it to the Gemfile and start with `bundle exec neverblock`"
    end

    # ENV.fetch of a variable that is not set.
    def fix_of_variable(error)
      return "" unless error.receiver.equal?(ENV)

      default = error.key == "PORT" ? 9292 : "DEFAULT"
      "; set #{error.key}, or write ENV.fetch(#{error.key.inspect}, #{default})"
    rescue ArgumentError # raised without a receiver
      ""
    end

    # What did_you_mean has found, where it is loaded.
    def near(error)
      name = error.corrections.first if error.respond_to?(:corrections)
      name ||= with_letters_of(error)
      name ? "; did you mean #{name}?" : ""
    rescue StandardError
      ""
    end

    # Two letters of a short word in each other's place are too far away for did_you_mean.
    def with_letters_of(error)
      return unless error.is_a?(NoMethodError)

      letters = error.name.to_s.chars.sort
      error.receiver.class.instance_methods(false).find { |name| name.to_s.chars.sort == letters }
    end

    # An exception's own #message may raise.
    def message_of(error)
      error.message
    rescue StandardError => e
      "its message raised #{e.class}"
    end

    def first_line(message)
      utf8(message).lines.map(&:strip).find { |line| !line.empty? } || "no message"
    end

    def utf8(text)
      Log::Characters.scrubbed(text)
    end

    private_class_method :own?, :file_and_line, :syntax_error, :without_receiver, :fix,
                         :fix_of_load, :fix_of_variable, :near, :with_letters_of, :message_of,
                         :first_line, :utf8
  end
end
