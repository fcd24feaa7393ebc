# frozen_string_literal: true

# Exceptions, ensure, throw and the like.

UnchangedHunt.kind :control do
  habit :ensured, <<~'RUBY'
    begin
      __BODY__
    ensure
      __WAIT__
      out << __T__
    end
  RUBY

  habit :rescued, <<~'RUBY'
    begin
      __WAIT__
      raise KeyError, __T__
    rescue KeyError => e
      __BODY__
      out << e.message << $!.equal?(e)
    end
    out << $!.inspect
  RUBY

  habit :cause, <<~'RUBY'
    begin
      begin
        raise KeyError, __T__
      rescue KeyError
        __WAIT__
        raise IOError, "second"
      end
    rescue IOError => e
      __WAIT__
      out << e.cause&.message << e.cause.class << $!.message
    end
  RUBY

  habit :retried, <<~'RUBY'
    left__N__ = 3
    begin
      __WAIT__
      raise KeyError if (left__N__ -= 1).positive?

      out << left__N__
    rescue KeyError
      __WAIT__
      retry
    end
  RUBY

  habit :thrown, <<~'RUBY'
    out << catch(:hunt__N__) do
      [1, 2].each { |n| [3].each { |m| __WAIT__; throw :hunt__N__, "#{n}#{m}#{__T__}" } }
    end
  RUBY

  habit :broken_out, <<~'RUBY'
    out << [1, 2, 3].each { |n| __WAIT__; break n * 10 if n == 2 } <<
      (1..).each { |n| next if n < 2; break n }
  RUBY

  habit :returned, <<~'RUBY'
    out << (lambda do
      begin
        return __T__
      ensure
        __WAIT__
        out << "left"
      end
    end.call)
  RUBY

  habit :ensure_order, <<~'RUBY'
    begin
      begin
        raise KeyError, __T__
      ensure
        __WAIT__
        out << $!.class
      end
    rescue KeyError
      out << "rescued"
    else
      out << "never"
    ensure
      __WAIT__
      out << $!.inspect
    end
  RUBY

  habit :no_standard_error, <<~'RUBY', setup: "class Other__N__ < Exception; end\n"
    begin
      begin
        __WAIT__
        raise Other__N__, __T__
      rescue StandardError
        out << "never"
      end
    rescue Other__N__ => e
      out << e.message
    end
  RUBY

  habit :thrown_nowhere, <<~'RUBY'
    begin
      __WAIT__
      throw :nobody__N__
    rescue UncaughtThrowError => e
      out << e.message
    end
  RUBY

  habit :raised_anew, <<~'RUBY'
    begin
      begin
        raise KeyError, __T__
      rescue KeyError
        __WAIT__
        raise
      end
    rescue KeyError => e
      out << e.message << e.cause.inspect << e.backtrace.first.class
    end
  RUBY
end
