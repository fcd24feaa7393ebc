# frozen_string_literal: true

# One gem's ordinary use, as a file of uses/ defines it. The test process reads its name and its
# needs. A server of each kind calls the blocks.
#
#   Gems.use "oj" do
#     requires "oj"
#     answer { |id| Oj.load(Oj.dump({ "id" => id })) }
#   end
#
# `answer` gets the request's own text and its environment. On threads its value must depend on
# nothing else. Instead, `app` returns a Rack application, which is asked for "/ID", or `rails` a
# small Rails application around such a block (rails.rb).

module Gems
  class << self
    # @return [Hash{String => Use}] by the gem's name, in the order they were read
    def uses
      @uses ||= {}
    end

    def use(name, &block)
      uses[name] = Use.new(name).tap { |use| use.instance_eval(&block) }
    end

    # Reads uses/, once.
    def load
      Dir[File.join(__dir__, "../uses/*.rb")].sort.each { |file| require file }
      uses
    end

    # @return [Array<String>] the names of the parts that a use is made of
    def services = %i[postgresql redis memcached imagemagick libvips]
  end

  class Use
    attr_reader :name, :files, :services, :word, :questions_style

    def initialize(name)
      @name = name
      @files = []
      @services = []
      @setups = []
      @questions_style = :get
    end

    # @param files [Array<String>] what is required, in the server's process
    def requires(*files) = @files.concat(files)

    # @param services [Array<Symbol>] of Gems.services
    def needs(*services) = @services.concat(services)

    # Runs once, before the server listens.
    def setup(&block) = @setups << block

    # Runs for each request: the value is shown.
    def answer(&block) = @answer = block

    # @return in its block, a Rack application
    def app(&block) = @app = block

    # Sends bodies too.
    def asks(style) = @questions_style = style

    # What a user has to know, as `neverblock check` says it.
    def note(text) = @word = text

    # --- In the server ---

    # @return [#call] a program of the prelude's
    def program
      files.each { |file| require file }
      @setups.each(&:call)
      inner = @app&.call
      return ->(env) {
        inner.call(env.merge("PATH_INFO" => "/#{id_of(env)}", "SCRIPT_NAME" => ""))
      } if inner

      ->(env) {
        [200, { "content-type" => "text/plain" }, [Hunt.text(Array(@answer.call(id_of(env), env)))]]
      }
    end

    private

    def id_of(env) = env["PATH_INFO"].split("/")[2]
  end
end
