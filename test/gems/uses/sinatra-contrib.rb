# frozen_string_literal: true

Gems.use "sinatra-contrib" do
  requires "sinatra/base", "sinatra/streaming", "sinatra/json", "sinatra/cookies"
  app do
    Class.new(Sinatra::Base) do
      set :environment, :production
      set :host_authorization, { permitted_hosts: [] }
      helpers Sinatra::Streaming, Sinatra::Cookies
      get "/:id" do |id|
        next json(cookies: cookies[:seen] = id) if params["n"] == "0"
        if params["n"] == "1"
          next stream { |out| 4.times { |n| Hunt.nap && out.puts("#{id} #{n}") } }
        end

        parts = Queue.new
        Thread.new { 3.times { |n| Hunt.nap && parts << "#{id} #{n}\n" } && parts.close }
        stream(:keep_open) do |out|
          while (part = parts.pop)
            out << part
          end
          out.close
        end
      end
    end
  end
end
