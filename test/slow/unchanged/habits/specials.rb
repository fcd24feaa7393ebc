# frozen_string_literal: true

# Variables that a method or a thread has of its own.

UnchangedHunt.kind :specials do
  habit :last_match, <<~'RUBY'
    "#{__T__}=#{id}" =~ /=(.+)/
    __WAIT__
    out << $1 << $~[0] << $` << Regexp.last_match(1)
  RUBY

  habit :match_around, <<~'RUBY'
    if /(?<word__N__>\w+)$/ =~ __T__
      __BODY__
      out << word__N__
    end
  RUBY

  habit :match_in_block, <<~'RUBY'
    "ab-cd" =~ /cd/
    out << "x1y2".gsub(/\d/) { |digit| __WAIT__; "#{digit}#{$~.begin(0)}" } << $~[0]
  RUBY

  habit :match_in_case, <<~'RUBY'
    case __T__
    when /\A(.)(.)/
      __WAIT__
      out << $1 << $2
    end
  RUBY

  habit :match_in_enumerator, <<~'RUBY'
    "ab-#{id}" =~ /-(.+)/
    out << Enumerator.new { |y| __WAIT__; y << $1; "z" =~ /z/; y << $~[0] }.next << $1
  RUBY

  habit :last_line, <<~'RUBY'
    StringIO.new("#{__T__}\nsecond\n").gets
    __WAIT__
    out << $_
  RUBY

  habit :last_error, <<~'RUBY'
    out << $!.inspect
    begin
      raise KeyError, __T__
    rescue KeyError
      __WAIT__
      out << $!.message << $@.first.class
    end
    __WAIT__
    out << $!.inspect
  RUBY

  habit :last_error_in_fiber, <<~'RUBY'
    begin
      raise KeyError, __T__
    rescue KeyError
      out << Fiber.new { __WAIT__; $!.inspect }.resume << Thread.new { $!.inspect }.value <<
        Enumerator.new { |y| __WAIT__; y << $!.inspect }.next
      out << $!.message
    end
  RUBY

  habit :errors_across_waits, <<~'RUBY'
    begin
      Integer(__T__)
    rescue ArgumentError
      out << (Float("x") rescue $!.message)
      __WAIT__
      out << $!.message
    end
  RUBY

  habit :frozen_globals, <<~'RUBY'
    out << $PROGRAM_NAME.class << $/ << $,.inspect << $;.inspect << $stdout.class
  RUBY

  habit :method_name, <<~'RUBY'
    __WAIT__
    out << __method__ << self.class.name.split("::").last <<
      caller_locations(0, 1).first.label.class
  RUBY

  habit :last_status, <<~'RUBY'
    system("exit #{id.sum % 7}")
    __WAIT__
    out << $?.exitstatus << Process.last_status.exitstatus
    __WAIT__
    out << $?.success?
  RUBY

  habit :last_status_in_fiber, <<~'RUBY'
    system("exit #{(id.sum % 7) + 1}")
    out << Fiber.new { __WAIT__; $?&.exitstatus }.resume <<
      Enumerator.new { |y| `exit 9`; y << $?.exitstatus }.next << $?.exitstatus
  RUBY

  habit :last_status_around, <<~'RUBY'
    `exit #{(id.sum % 5) + 1}`
    __BODY__
    out << $?.class
  RUBY
end
