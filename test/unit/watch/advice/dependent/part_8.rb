# frozen_string_literal: true

AdviceCases::DEPENDENT.add do
  case_of "a default that calls a reader", source: <<~'RUBY'
    def show
      load_user
      feed
    end

    def load_user = @user = Model.find(1)
    def user_id = @user.id
    def feed(id = user_id) = HTTP.get("/feed/#{id}")
  RUBY

  case_of "a guard two calls down", source: <<~'RUBY'
    def show
      catch(:halt) do
        forbid unless Model.exists?(member: true)
        HTTP.get("/members")
      end
    end

    def forbid
      halt(403)
    end

    def halt(status)
      throw :halt, status
    end
  RUBY

  case_of "a guard in a block of unless", source: <<~'RUBY'
    def show
      catch(:halt) do
        unless Model.exists?(member: true)
          @status = 403
          stop
        end
        HTTP.get("/members")
      end
    end

    def stop
      throw :halt
    end
  RUBY

  case_of "a match and $~", source: <<~'RUBY'
    def show
      HTTP.get("/build").match(/answer to (?<path>.*)/)
      HTTP.get("/log?of=#{$~[:path]}")
    end
  RUBY

  case_of "the template reads a list that the action filled", source: <<~'RUBY'
    require "erb"

    VIEW = '<% @ids.each do |id| %><%= id %><% end %><%= HTTP.get("/more?not=#{@ids}") %>'
    TEMPLATE = "#{File.dirname(__FILE__)}/list.html.erb"
    File.write(TEMPLATE, VIEW)
    class_eval("def view\n#{ERB.new(VIEW).src}\nend", TEMPLATE, -1)

    def show
      load_ids
      view
    end

    def load_ids
      @ids = Model.pluck(:id).map(&:id)
    end
  RUBY

  case_of "chunks of the client's body", source: <<~'RUBY'
    def show
      body = Waiting.new
      head = body.read(1024)
      rest = body.read(1024)
      [head, rest]
    end
  RUBY
end
