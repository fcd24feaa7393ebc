# frozen_string_literal: true

require "neverblock/init/ruby_file"

module NeverBlock
  module Init
    # falcon.rb: the words in its `service` blocks, or in `rack` blocks of old versions.
    class Falcon < RubyFile
      SERVER = "Falcon"
      FILES = %w[falcon.rb].freeze

      NEEDLESS = {
        %i[require] => "it loads Falcon",
        %i[include load] => "what Falcon's environments do is on here by itself",
        %i[supervisor] => "the front watches the workers",
        %i[scheme protocol authority] =>
          "HTTP/1.1 and HTTP/2 are both on; an address tells the rest",
        %i[cache verbose container_class] => "there is no such setting here"
      }.freeze
      MISSING = {
        %i[hostname] => "an address is host and port here",
        %i[rackup_path] => "the file is named on the command line: neverblock FILE",
        %i[middleware] => "an application is a rackup file here: move it to config.ru"
      }.freeze
      # A text with an address, and the service's own port in it.
      ADDRESS = /\A["'](\w+:.+)["']\z/m.freeze
      PORT = /\#\{port\}/.freeze
      LONG = "a block of several statements: write its value by hand"
      PRELOAD = "the whole application is loaded before workers are forked"
      PORT_OF_BIND = "it is the port of the endpoint's bind"
      BLOCKS = %w[service rack].freeze
      METHODS = { count: :workers, port: :port, url: :url, endpoint: :endpoint,
                  preload: :preload, append: :append }.freeze

      # @return [Array<Entry>]
      def entries
        @entries ||= Statements.read(@text, @name).flat_map do |one|
          service?(one) ? service(one) : entries_of(one, 0)
        end
      end

      private

      # `port` in the address of the same service is its value.
      def service(statement)
        inner = statement.statements
        @port = inner.find { |one| one.word == "port" && value_of(one) }
        @bound = @port && inner.any? { |one| one.strings&.any? { |text| text.match?(PORT) } }
        inner.flat_map { |one| entries_of(one, 0) }
      ensure
        @port = @bound = nil
      end

      def service?(statement)
        statement.kind == :call && BLOCKS.include?(statement.word) && statement.block
      end

      def workers(statement)
        value = value_of(statement)
        return Translation.missing(LONG) unless value

        Translation.carried("workers #{value.empty? ? ":auto" : value}")
      end

      def port(statement)
        value = value_of(statement)
        return Translation.missing(LONG) unless value
        return without_value if value.empty?
        return Translation.needless(PORT_OF_BIND) if @bound && statement.equal?(@port)

        Translation.carried("bind #{RubyText.address("http", '"0.0.0.0"', value)}")
      end

      def url(statement) = address(statement)
      def endpoint(statement) = address(statement)

      def preload(statement)
        return Translation.carried("preload_app false") if statement.argument == "false"

        Translation.carried("preload_app true", note: PRELOAD)
      end

      # Old versions have `append preload "FILE"`.
      def append(statement)
        return preload(statement) if statement.words.include?(:preload)

        Translation.missing("there is no such setting here")
      end

      # `count 2`, or `count { 2 }` in a block of an environment.
      # @return [String, nil] nil: a block of several statements
      def value_of(statement)
        return statement.argument if statement.argument
        return if statement.statements.size > 1

        statement.statements.first&.text.to_s
      end

      def address(statement)
        text = statement.strings.find { |one| one.match?(ADDRESS) }
        url = text && text[ADDRESS, 1]
        url = with_port(url) if url&.match?(PORT) && !statement.variables.include?(:port)
        return Translation.missing("write the address as bind \"http://HOST:PORT\"") unless url

        Translation.carried("bind \"#{url}\"", note: certificate(url))
      end

      # `port` is the service's word, and no variable of the file.
      def with_port(url)
        value = @port && value_of(@port)
        url.gsub(PORT) { "\#{#{value}}" } unless value.to_s.empty?
      end

      def certificate(url)
        "it needs a certificate: bind \"#{url}?cert=FILE&key=FILE\"" if url.start_with?("https")
      end
    end
  end
end
