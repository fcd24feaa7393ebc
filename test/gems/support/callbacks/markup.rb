# frozen_string_literal: true

# rubocop:disable Style/RescueModifier -- what is raised is a part of the answer

class GemCallbacks
  # Parsers, markup and languages.
  module Markup
    def racc(me, turn)
      parser = Class.new(Nokogiri::CSS::Parser) do
        define_method(:next_token) { turn.call && super() }
      end
      parser.new.parse("a#{me} > b.c#{me}, d").map(&:to_type)
    end

    def redcarpet(me, turn)
      page = Class.new(Redcarpet::Render::HTML) do
        define_method(:link) { |link, _title, content| turn.call("[#{content}|#{link}]") }
      end
      Redcarpet::Markdown.new(page.new, tables: true).render(
        "# #{me}\n\n#{Array.new(5) { |n| "* [a *#{n}*](/#{me})" }.join("\n")}\n"
      )
    end

    def commonmarker(me, turn)
      page = Class.new(CommonMarker::HtmlRenderer) do
        define_method(:link) { |node| turn.call && out("[#{me}|#{node.url}]") }
      end
      list = Array.new(5) { |n| "* [a *#{n}*](/#{me})" }.join("\n")
      document = CommonMarker.render_doc("# #{me}\n\n#{list}\n\n" \
                                         "| a | b |\n|---|---|\n| #{me} | ~~c~~ |\n",
                                         :DEFAULT, %i[table strikethrough])
      types = []
      document.walk { |node| types << node.type && node.type == :emph && turn.call }
      [types, document.to_html, page.new.render(document)]
    end

    def sassc(me, turn)
      functions = Module.new do
        define_method(:slowly) do |text|
          SassC::Script::Value::String.new(turn.call("#{text.value}-#{me}"))
        end
      end
      importer = Class.new(SassC::Importer) do
        define_method(:imports) do |path, _from|
          sleep(0.001) && SassC::Importer::Import.new(path, source: ".#{path} { of: #{me} }")
        end
      end
      calls = Array.new(5) { |n| "p#{n}: slowly(x#{n});" }.join
      SassC::Engine.new("@import 'i#{me}', 'j'; .a { #{calls} }",
                        functions: functions, importer: importer, style: :compressed).render
    end

    def miniracer(me, turn)
      context = MiniRacer::Context.new
      context.attach("slowly", ->(number, *) { turn.call(number * me) })
      [context.eval("[1, 2, 3, 4].map(slowly)"),
       (context.eval("throw new Error('#{me}')") rescue $!.message)]
    ensure
      context&.dispose
    end

    SHARED = Mutex.new

    # A context of all requests. Its function takes the turn of the request that calls.
    def miniracer_shared(me, turn)
      Thread.current[:turn] = turn
      [shared_context.eval("[1, 2, 3, 4].map(slowly).concat(deep(3000), #{me})"),
       Thread.current[:turns], (shared_context.eval("throw new Error('#{me}')") rescue $!.message)]
    ensure
      Thread.current[:turn] = Thread.current[:turns] = nil
    end

    # The same where the function waits for a Queue, and others call the context meanwhile.
    def miniracer_shared_queue(me, turn)
      queue = Queue.new
      thread = Thread.new { 20.times { queue << sleep(0.001) } }
      waiting = Turns.new { |number| queue.pop && turn.call(number) }
      miniracer_shared(me, waiting).tap { thread.join }
    end

    # A program that calls a function of the host twice.
    CALLS_TWICE = <<~WAT
      (module
        (import "" "host" (func $host (param i32) (result i32)))
        (func (export "run") (param i32) (result i32)
          local.get 0 call $host local.get 0 call $host i32.add))
    WAT

    def wasmtime(me, turn)
      engine = SHARED.synchronize { @@engine ||= Wasmtime::Engine.new }
      store = Wasmtime::Store.new(engine)
      host = Wasmtime::Func.new(store, [:i32], [:i32]) { |_caller, number| turn.call(number + 1) }
      program = Wasmtime::Module.new(engine, CALLS_TWICE.dup) # locked meanwhile
      instance = Wasmtime::Instance.new(store, program, [host])
      Array.new(3) { instance.invoke("run", me) rescue "#{$!.class}: #{$!.message.lines.first}" }
    end

    # Waits for a Queue park, and others call meanwhile.
    def wasmtime_queue(me, turn)
      queue = Queue.new
      thread = Thread.new { 20.times { queue << sleep(0.001) } }
      waiting = Turns.new { |number| queue.pop && turn.call(number) }
      wasmtime(me, waiting).tap { thread.join }
    end

    # Called as a turn is.
    Turns = Struct.new(:block) do
      def initialize(&block) = super(block)
      def call(number) = block.call(number)
    end

    def shared_context
      SHARED.synchronize do
        @@shared_context ||= MiniRacer::Context.new.tap do |context|
          context.eval("function deep(n) { return n == 0 ? 0 : 1 + deep(n - 1); }")
          context.attach("slowly", lambda { |number, *|
            Thread.current[:turns] = Thread.current[:turns].to_i + 1
            Thread.current[:turn].call(number)
          })
        end
      end
    end
  end
end

# rubocop:enable Style/RescueModifier
